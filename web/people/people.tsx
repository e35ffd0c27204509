import { boot } from "../boot.ts";
import { mayCall } from "../client/call.ts";
import { useTitle } from "../parts/title.ts";
import { Tokens } from "./tokens.tsx";
import { Users } from "./users.tsx";

/** People with their ranks, and tokens. */
export function People() {
  useTitle("People");
  return (
    <div className="column wide">
      <div className="page-head">
        <h1>People and agents</h1>
        <p className="lead">
          You are <strong>{boot.person.name}</strong>, {article(boot.person.rank)}. {mayDo[boot.person.rank]}
        </p>
      </div>
      {mayCall("list_users") ? <Users /> : <p className="note">Who may come in is an admin's to see and to say.</p>}
      {mayCall("list_tokens") && <Tokens />}
    </div>
  );
}

const article = (rank: string) => (rank === "admin" ? "an admin" : `a ${rank}`);
const mayDo = {
  reader: "You may read everything; writing, discussing and deciding need a collaborator.",
  collaborator: "You may read, write, discuss and decide; people and tokens are an admin's.",
  admin: "You may do everything.",
};
