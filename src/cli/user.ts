import { Command, Option } from "@commander-js/extra-typings";
import { addUser, changeUser, listUsers, removeUser } from "../people/operations.ts";
import { type Common, report } from "./session.ts";
import { table, when } from "./text.ts";

export const userCommand = (common: () => Common) =>
  new Command("user")
    .description("manage people and their permissions")
    .addCommand(
      new Command("add")
        .description(addUser.summary)
        .argument("<name...>")
        .option("--email <address>", "email for the commits they approve")
        .option("--rank <rank>", "reader, collaborator or admin")
        .addOption(new Option("--role <rank>", "old name of --rank").hideHelp())
        .action((words, { email, rank, role }) =>
          report(common(), addUser, { name: words.join(" "), email, rank: rank ?? role }, (made) =>
            [
              `${made.name} can sign in as ${made.rank} with this link. It works once, until ${when(made.link_expires_at)}:`,
              `  ${made.link}`,
            ].join("\n"),
          ),
        ),
    )
    .addCommand(
      new Command("list")
        .description(listUsers.summary)
        .action(() => report(common(), listUsers, {}, { text: listed, json: (found) => found.users })),
    )
    .addCommand(rankCommand("rank", common))
    .addCommand(rankCommand("role", common), { hidden: true })
    .addCommand(
      new Command("remove")
        .description(removeUser.summary)
        .argument("<name>")
        .action((name) => report(common(), removeUser, { name }, () => `${name} can no longer sign in`)),
    );

const rankCommand = (name: "rank" | "role", common: () => Common) =>
  new Command(name)
    .description(changeUser.summary)
    .argument("<name>")
    .argument("<rank>", "reader, collaborator or admin")
    .action((name, rank) => report(common(), changeUser, { name, rank }, (user) => `${user.name} is ${user.rank}`));

function listed({ users }: { users: { name: string; rank: string; email: string | null; created_at: string }[] }) {
  if (users.length === 0) return "no users; add one with: scriptorium user add <name> --rank reader";
  return table([
    ["name", "rank", "email", "since"],
    ...users.map((user) => [user.name, user.rank, user.email ?? "–", when(user.created_at)]),
  ]);
}
