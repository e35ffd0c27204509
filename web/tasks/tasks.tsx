import { Button, Textarea, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { stateWords } from "../../src/tasks/state-words.ts";
import { call, type Input } from "../client/call.ts";
import { useDraft } from "../client/draft.ts";
import { useWrite } from "../client/query.ts";
import { AgentName } from "../parts/agent-name.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Shown } from "../parts/shown.tsx";
import { Empty, Failed, Loading } from "../parts/state.tsx";
import { useTitle } from "../parts/title.ts";
import { ActionButton } from "../shell/action-button.tsx";
import { type Action, useActions } from "../shell/actions.ts";
import { toneOf } from "./states.ts";

const filters = ["pending", "worker_executing", "qc_executing", "completed", "failed", "cancelled"] as const;

/** Tasks of every run, and todos of their own. */
export function Tasks() {
  useTitle("Tasks");
  const { state } = useSearch({ strict: false }) as { state?: (typeof filters)[number] };
  const [isAdding, setAdding] = useState(false);
  const list = useInfiniteQuery({
    queryKey: ["list_todos", "pages", state],
    queryFn: ({ pageParam }) =>
      call("list_todos", { limit: 100, ...(state ? { state } : {}), ...(pageParam ? { cursor: pageParam } : {}) }),
    initialPageParam: "",
    getNextPageParam: (last) => last.cursor,
  });
  const todos = list.data?.pages.flatMap((page) => page.todos) ?? [];
  const isEmpty = list.data !== undefined && todos.length === 0 && state === undefined;
  const add: Action = {
    id: "task-add",
    label: "New task",
    group: "Page",
    keys: "n t",
    operation: "create_todo",
    run: () => setAdding(true),
  };
  useActions([add]);
  return (
    <div className="column wide">
      <div className="page-head with-actions">
        <div>
          <h1>Tasks</h1>
          <p className="lead">Work that agents and people claim, one holder at a time.</p>
        </div>
        {!isEmpty && <ActionButton action={add} />}
      </div>
      <nav className="chips" aria-label="States">
        {[undefined, ...filters].map((name) => (
          <Link
            key={name ?? ""}
            to="/tasks"
            search={{ state: name }}
            className="chip"
            data-on={state === name || undefined}
            activeProps={{}}
          >
            {name ? stateWords[name] : "All"}
          </Link>
        ))}
      </nav>
      {list.error && <Failed error={list.error} again={() => void list.refetch()} />}
      {list.isPending && <Loading />}
      {list.data && todos.length === 0 && (
        <Empty title="No tasks">
          <p>Runs create their own tasks. A task of your own can be claimed by anyone.</p>
          {isEmpty ? (
            <ActionButton action={add} />
          ) : (
            <Link to="/tasks" search={{ state: undefined }}>
              Show all tasks
            </Link>
          )}
        </Empty>
      )}
      {todos.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways on a narrow screen
        <div className="table-scroll" tabIndex={0}>
          <table className="list">
            <thead>
              <tr>
                <th scope="col">Task</th>
                <th scope="col">State</th>
                <th scope="col" className="minor">
                  Holder
                </th>
                <th scope="col" className="minor">
                  Attempt
                </th>
                <th scope="col" className="minor">
                  Priority
                </th>
              </tr>
            </thead>
            <tbody>
              {todos.map((todo) => (
                <tr key={todo.id}>
                  <th scope="row">
                    <Link to={`/tasks/${todo.id}`}>
                      <Shown text={todo.title} />
                    </Link>
                  </th>
                  <td>
                    <span className={`state tone-${toneOf(todo.state)}`}>{stateWords[todo.state]}</span>
                    {todo.waits_for ? <span className="muted"> waits for {todo.waits_for}</span> : null}
                  </td>
                  <td className="minor">{todo.holder && <AgentName of={todo.holder} />}</td>
                  <td className="number minor">{todo.attempt ?? ""}</td>
                  <td className="number minor">{todo.priority}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {list.hasNextPage && (
        <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show more
        </Button>
      )}
      {isAdding && <NewTask onClose={() => setAdding(false)} />}
    </div>
  );
}

function NewTask({ onClose }: { onClose(): void }) {
  const navigate = useNavigate();
  const draft = useDraft("new task", { title: "", description: "" });
  const { title, description } = draft.value;
  const set = (change: Partial<typeof draft.value>) => draft.setValue({ ...draft.value, ...change });
  const create = useWrite("create_todo", {
    onDone({ id }) {
      draft.clear();
      void navigate({ to: `/tasks/${id}` });
    },
  });
  return (
    <Dialog onClose={onClose} title="New task">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate({ title, description } satisfies Input<"create_todo">);
        }}
      >
        <TextInput
          label="Title"
          required
          data-autofocus
          value={title}
          onChange={(event) => set({ title: event.currentTarget.value })}
          maxLength={300}
        />
        <Textarea
          label="Description"
          autosize
          minRows={3}
          value={description}
          onChange={(event) => set({ description: event.currentTarget.value })}
          maxLength={20_000}
        />
        <Button type="submit" loading={create.isPending} disabled={!title.trim()}>
          Create task
        </Button>
      </form>
    </Dialog>
  );
}
