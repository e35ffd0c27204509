import { memo } from "react";
import { spellHidden } from "../../../src/kernel/hidden.ts";
import { stateWords } from "../../../src/tasks/state-words.ts";
import { Shown } from "../../parts/shown.tsx";
import { toneOf } from "../../tasks/states.ts";
import type { Task } from "./scene.ts";

const wordsOf = ({ state, score, attempts }: Task) =>
  `${stateWords[state] ?? state}${score === null ? "" : `, ${score}`}${attempts > 1 ? `, attempt ${attempts}` : ""}`;
export const nameOf = (task: Task) => spellHidden(`Task ${task.number}, ${task.title}, ${wordsOf(task)}`);

type NodeProps = { task: Task; x: number; y: number; isStop: boolean };

/** One task, as a link; the keys reach one of them with Tab, and the others with arrows. */
export const TaskNode = memo(function TaskNode({ task, x, y, isStop }: NodeProps) {
  return (
    <a
      href={task.id === "" ? "#" : `/tasks/${task.id}`}
      className={`task-node tone-${toneOf(task.state)}`}
      style={{ transform: `translate(${x}px, ${y}px)` }}
      data-number={task.number}
      tabIndex={isStop ? 0 : -1}
      draggable={false}
      aria-label={nameOf(task)}
    >
      <span className="task-title">
        <b>{task.number}</b> <Shown text={task.title} />
      </span>
      <span className="task-words">{wordsOf(task)}</span>
    </a>
  );
});
