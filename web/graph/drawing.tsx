import { Background, Controls, type Edge, MarkerType, type Node, ReactFlow } from "@xyflow/react";
import { spellHidden } from "../../src/kernel/hidden.ts";
import "@xyflow/react/dist/style.css";
import "../style/flow.css";
import { useMemo } from "react";
import { rings } from "./rings.ts";

type Props = {
  nodes: { id: string; type: string; title: string }[];
  edges: { from: string; type: string; to: string }[];
  chosen: string;
  onChoose(id: string): void;
};

const size = { width: 170, height: 52 };

/** Nodes around the chosen one, and the edges between them. */
export function Drawing({ nodes, edges, chosen, onChoose }: Props) {
  const drawn = useMemo(() => place(nodes, edges, chosen), [nodes, edges, chosen]);
  return (
    <div className="flow">
      <ReactFlow
        key={chosen}
        nodes={drawn.nodes}
        edges={drawn.edges}
        onNodeClick={(_, node) => onChoose(node.id)}
        fitView
        fitViewOptions={{ maxZoom: 1.25 }}
        minZoom={0.1}
        nodesConnectable={false}
        nodesDraggable={false}
        onlyRenderVisibleElements
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={24} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
}

function place(nodes: Props["nodes"], edges: Props["edges"], chosen: string): { nodes: Node[]; edges: Edge[] } {
  const places = new Map(
    rings(
      nodes.map(({ id }) => id),
      edges,
      chosen,
    ).map((one) => [one.id, one]),
  );
  return {
    nodes: nodes.map(({ id, title, type }): Node => {
      const { x = 0, y = 0 } = places.get(id) ?? {};
      return {
        id,
        position: { x: x - size.width / 2, y: y - size.height / 2 },
        data: { label: <Label type={type} title={title || id} /> },
        className: id === chosen ? "chosen" : "",
        ariaLabel: spellHidden(`${type} ${title || id}`),
        ...size,
      };
    }),
    edges: edges.map(({ from, type, to }) => ({
      id: `${from} ${type} ${to}`,
      source: from,
      target: to,
      type: "straight",
      ...(from === chosen || to === chosen ? { label: type } : {}),
      markerEnd: { type: MarkerType.ArrowClosed },
    })),
  };
}

function Label({ type, title }: { type: string; title: string }) {
  return (
    <span className="node-label">
      <span className="node-type">{type}</span>
      <span className="node-title">{spellHidden(title)}</span>
    </span>
  );
}
