import { Command, Option } from "@commander-js/extra-typings";
import type * as z from "zod";
import { refuse } from "../kernel/result.ts";
import { createToken, listTokens, revokeToken } from "../people/operations.ts";
import { type Common, complain, report } from "./session.ts";
import { table, when } from "./text.ts";

export const tokenCommand = (common: () => Common) =>
  new Command("token")
    .description("manage access tokens")
    .addCommand(
      new Command("create")
        .description(createToken.summary)
        .option("--agent <role>", "create a token for an agent with this role of schema.yaml")
        .option("--person <name>", "create a token for this person")
        .option("--rank <rank>", "rank of the person: reader, collaborator or admin")
        .addOption(new Option("--role <rank>", "old name of --rank").hideHelp())
        .option("--days <n>", "days until the token expires (default: never)", Number)
        .action(async ({ agent, person, days, ...given }) => {
          const rank = given.rank ?? given.role;
          if ((agent === undefined) === (person === undefined && rank === undefined)) {
            return complain(
              common(),
              refuse("invalid", "whose token? use --agent <role>, or --person <name> --rank <rank>").problem,
            );
          }
          const input = agent
            ? { kind: "agent", role: agent, days }
            : {
                kind: "person",
                name: person ?? rank,
                rank: rank ?? "collaborator",
                days,
              };
          await report(
            common(),
            createToken,
            input,
            (made) => `${made.token}\n(${made.id}, ${made.role ?? made.rank}; shown only once)`,
          );
        }),
    )
    .addCommand(
      new Command("list")
        .description(listTokens.summary)
        .action(() => report(common(), listTokens, {}, { text: listed, json: (found) => found.tokens })),
    )
    .addCommand(
      new Command("revoke")
        .description(revokeToken.summary)
        .argument("<id>")
        .action((id) => report(common(), revokeToken, { id }, () => `revoked ${id}`)),
    );

function listed({ tokens }: z.infer<typeof listTokens.output>): string {
  if (tokens.length === 0) return "no tokens; create one with: scriptorium token create --agent <role>";
  return table([
    ["id", "for", "name", "role or rank", "made", "state"],
    ...tokens.map((t) => {
      const state = t.revoked_at ? "revoked" : t.expires_at ? `until ${when(t.expires_at)}` : "good";
      return [t.id, t.kind, t.name, t.role ?? t.rank ?? "", when(t.created_at), state];
    }),
  ]);
}
