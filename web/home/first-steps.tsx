import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { mayCall, type Output } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { Check } from "../parts/icons.tsx";

type Step = Output<"first_steps">["steps"][number]["step"];
type Way = { title: string; why: string; label: string; to: string; when?: boolean };

/** `page` is an entry with text, to ask about and to discuss. */
const ways = (page: string): Record<Step, Way> => ({
  connect: {
    title: "Connect an agent",
    why: "It answers topics, proposes changes and works in runs.",
    label: "Set up agent",
    to: "/settings/agents",
    when: mayCall("configure_agent"),
  },
  ask: {
    title: "Ask it something",
    why: "Open a question on a page and press Ask agent. It answers from the wiki.",
    label: "Open a page",
    to: page,
  },
  discuss: {
    title: "Discuss a passage",
    why: "Select words on a page and say what should change. Agents and people see it beside the words.",
    label: "Open a page",
    to: page,
  },
  approve: {
    title: "Approve a change",
    why: "Agents propose; nothing changes on a page until a person approves the diff.",
    label: "Open inbox",
    to: "/inbox",
  },
  run: {
    title: "Run a crew",
    why: "A request becomes a plan, workers do its tasks, verifiers check each result.",
    label: "Open runs",
    to: "/runs",
  },
});

/** The first hour as five steps that check themselves off. */
export function FirstSteps({ page, onHide }: { page: string; onHide(): void }) {
  const { data } = useOperation("first_steps", {});
  if (!data) return null;
  const done = data.steps.filter((step) => step.done).length;
  const next = data.steps.find((step) => !step.done)?.step;
  const all = ways(page);
  return (
    <section className="first-steps" aria-labelledby="first-steps">
      <div className="first-steps-head">
        <h2 id="first-steps">First steps</h2>
        <span className="facts">
          {done} of {data.steps.length} done
        </span>
        <Button size="compact-xs" variant="subtle" aria-label="Hide first steps" onClick={onHide}>
          Hide
        </Button>
      </div>
      <ol>
        {data.steps.map(({ step, done: isDone }) => {
          const { title, why, label, to, when = true } = all[step];
          return (
            <li key={step} data-done={isDone || undefined}>
              <span className="step-mark" aria-hidden>
                {isDone && <Check size={14} />}
              </span>
              <div>
                <h3>
                  {title}
                  {isDone && <span className="sr-only"> (done)</span>}
                </h3>
                <p>{when || isDone ? why : `${why} An admin sets it up.`}</p>
              </div>
              {!isDone && when && (
                <Button
                  size="xs"
                  variant={step === next ? "filled" : "default"}
                  renderRoot={(props) => <Link to={to} {...props} />}
                >
                  {label}
                </Button>
              )}
            </li>
          );
        })}
      </ol>
    </section>
  );
}
