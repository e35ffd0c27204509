import { spellHidden } from "../../src/kernel/hidden.ts";
import { boot } from "../boot.ts";
import { mayCall } from "../client/call.ts";
import { useTitle } from "../parts/title.ts";
import { ranksMay } from "./ranks.ts";
import { Tokens } from "./tokens.tsx";
import { Users } from "./users.tsx";

/** People with their ranks, and tokens. */
export function People() {
  useTitle("People");
  return (
    <div className="column wide">
      <div className="page-head">
        <h1>People and agents</h1>
        <p className="lead">Who may sign in, what they may do, and the tokens of agents and scripts.</p>
        <p>
          You are <strong>{spellHidden(boot.person.name)}</strong>, {article(boot.person.rank)}.{" "}
          {ranksMay[boot.person.rank]}
        </p>
      </div>
      {mayCall("list_users") ? <Users /> : <p className="note">Only admins can see and manage people and tokens.</p>}
      {mayCall("list_tokens") && <Tokens />}
    </div>
  );
}

const article = (rank: string) => (rank === "admin" ? "an admin" : `a ${rank}`);
