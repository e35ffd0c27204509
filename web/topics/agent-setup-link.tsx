import { Link } from "@tanstack/react-router";
import { mayCall } from "../client/call.ts";

/** The way on when no agent could be started. */
export const AgentSetupLink = () =>
  mayCall("show_agents") ? <Link to="/settings/agents">Set up an agent</Link> : null;
