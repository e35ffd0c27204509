import { mayCall, Refusal } from "../client/call.ts";

/** A link to the set-up of agents, after a refusal for want of one. */
export function SetUpAgent({ after }: { after: unknown }) {
  const next = after instanceof Refusal ? after.details.next : undefined;
  const isMissing = Array.isArray(next) && next.some(({ operation }) => operation === "configure_agent");
  // Toasts are outside the router.
  return isMissing && mayCall("show_agents") ? <a href="/settings/agents">Set up agent</a> : null;
}
