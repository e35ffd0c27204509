import { Background, Controls, type Edge, MiniMap, type Node, ReactFlow } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import "../style/flow.css";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { stateWords, toneOf } from "../tasks/states.ts";
import { layers } from "./layers.ts";
import type { Run } from "./run.tsx";

const size = { width: 200, height: 56 };
/** A run that would be too small to read as a whole is shown from its beginning instead, with a map of it all. */
const large = 60;

/** The tasks of a run and what each waits for; only what is in sight is drawn. */
export function TaskGraph({ tasks }: { tasks: Run["tasks"] }) {
  const navigate = useNavigate();
  const shape = tasks.map(({ number, dependsOn }) => `${number}<${dependsOn.join()}`).join(" ");
  // biome-ignore lint/correctness/useExhaustiveDependencies: tasks are placed again only when the graph itself changes
  const places = useMemo(
    () =>
      new Map(
        layers(tasks.map(({ number, dependsOn }) => ({ id: number, after: dependsOn }))).map((one) => [one.id, one]),
      ),
    [shape],
  );
  const nodes = useMemo(
    () =>
      tasks.map(({ id, number, title, state, score, attempts }): Node => {
        const { x = 0, y = 0 } = places.get(number) ?? {};
        const words = `${stateWords[state] ?? state}${score === null ? "" : `, ${score}`}${attempts > 1 ? `, attempt ${attempts}` : ""}`;
        return {
          id: number,
          position: { x, y },
          data: { task: id, tone: toneOf(state), label: <Label number={number} title={title} words={words} /> },
          className: `task-node tone-${toneOf(state)}`,
          ariaLabel: `Task ${number}, ${title}, ${words}`,
          sourcePosition: "right" as NonNullable<Node["sourcePosition"]>,
          targetPosition: "left" as NonNullable<Node["targetPosition"]>,
          ...size,
        };
      }),
    [tasks, places],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: edges change only when the graph itself changes
  const edges = useMemo(
    () =>
      tasks.flatMap(({ number, dependsOn }) =>
        dependsOn.map((from): Edge => ({ id: `${from} ${number}`, source: from, target: number })),
      ),
    [shape],
  );
  return (
    <div className="flow task-flow">
      <ReactFlow
        nodes={nodes}
        edges={edges}
        onNodeClick={(_, node) => void navigate({ to: `/tasks/${(node.data as { task: string }).task}` })}
        {...(tasks.length > large
          ? { defaultViewport: { x: 24, y: 24, zoom: 0.7 } }
          : { fitView: true, fitViewOptions: { minZoom: 0.35, maxZoom: 1 } })}
        minZoom={0.05}
        nodesConnectable={false}
        nodesDraggable={false}
        onlyRenderVisibleElements
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={24} />
        <Controls showInteractive={false} />
        {tasks.length > large && (
          <MiniMap pannable zoomable nodeClassName={(node) => `mini-${(node.data as { tone: string }).tone}`} />
        )}
      </ReactFlow>
    </div>
  );
}

function Label({ number, title, words }: { number: string; title: string; words: string }) {
  return (
    <span className="task-label">
      <span className="task-title">
        <b>{number}</b> {title}
      </span>
      <span className="task-words">{words}</span>
    </span>
  );
}
