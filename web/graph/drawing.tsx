import { graphlib, layout } from "@dagrejs/dagre";
import { Background, Controls, type Edge, MarkerType, type Node, ReactFlow } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import "../style/flow.css";
import { useMemo } from "react";

type Props = {
  nodes: { id: string; type: string; title: string }[];
  edges: { from: string; type: string; to: string }[];
  chosen: string;
  onChoose(id: string): void;
};

const size = { width: 190, height: 52 };

/** Nodes and edges, laid out from left to right. */
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
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 18, ranksep: 70 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) graph.setNode(id, { ...size });
  for (const { from, to } of edges) if (graph.hasNode(from) && graph.hasNode(to)) graph.setEdge(from, to);
  layout(graph);
  return {
    nodes: nodes.map(({ id, title, type }) => {
      const { x = 0, y = 0 } = graph.node(id) as { x?: number; y?: number };
      return {
        id,
        position: { x: x - size.width / 2, y: y - size.height / 2 },
        data: { label: `${title || id}` },
        className: `node-of-${type}${id === chosen ? " chosen" : ""}`,
        ariaLabel: `${type} ${title || id}`,
        sourcePosition: "right" as Node["sourcePosition"],
        targetPosition: "left" as Node["targetPosition"],
        ...size,
      } as Node;
    }),
    edges: edges.map(({ from, type, to }) => ({
      id: `${from} ${type} ${to}`,
      source: from,
      target: to,
      label: type,
      markerEnd: { type: MarkerType.ArrowClosed },
    })),
  };
}
