import { Command } from "@commander-js/extra-typings";
import { addUser, changeUser, listUsers, removeUser } from "../people/operations.ts";
import { type Common, report } from "./session.ts";
import { table, when } from "./text.ts";

export const userCommand = (common: () => Common) =>
  new Command("user")
    .description("say who may sign in, and what they may do")
    .addCommand(
      new Command("add")
        .description(addUser.summary)
        .argument("<name...>")
        .option("--email <address>", "for the commits they approve")
        .option("--role <role>", "reader, collaborator or admin", "collaborator")
        .action((words, { email, role }) =>
          report(common(), addUser, { name: words.join(" "), email, role }, (made) =>
            [
              `${made.name} may sign in as ${made.role}. Give them this link; it is not shown again:`,
              `  http://127.0.0.1:<port>/?token=${made.token}`,
              "The port is the one `scriptorium serve` prints.",
            ].join("\n"),
          ),
        ),
    )
    .addCommand(
      new Command("list")
        .description(listUsers.summary)
        .action(() => report(common(), listUsers, {}, { text: listed, json: (found) => found.users })),
    )
    .addCommand(
      new Command("role")
        .description(changeUser.summary)
        .argument("<name>")
        .argument("<role>", "reader, collaborator or admin")
        .action((name, role) => report(common(), changeUser, { name, role }, (user) => `${user.name} is ${user.role}`)),
    )
    .addCommand(
      new Command("remove")
        .description(removeUser.summary)
        .argument("<name>")
        .action((name) => report(common(), removeUser, { name }, () => `${name} can no longer sign in`)),
    );

function listed({ users }: { users: { name: string; role: string; email: string | null; created_at: string }[] }) {
  if (users.length === 0) return "no users yet; add one with: scriptorium user add <name> --role reader";
  return table([
    ["name", "role", "email", "since"],
    ...users.map((user) => [user.name, user.role, user.email ?? "–", when(user.created_at)]),
  ]);
}
