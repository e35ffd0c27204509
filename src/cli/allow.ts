import { resolve } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { loadConfig } from "../config/config.ts";
import { findWorkspace } from "../config/environment.ts";
import { allowSettings, revokeSettings, type SettingsApp, showSettings } from "../config/operations.ts";
import { spellHidden } from "../kernel/hidden.ts";
import { ok, type Result, refuse, unwrap } from "../kernel/result.ts";
import { sameSecret } from "../people/secrets.ts";
import { ownerToken } from "../people/token-person.ts";
import { gitAt } from "../store/git/git.ts";
import type { Confirmation } from "./decide.ts";
import type { OutputOf } from "./output-of.ts";
import { type Common, gitPerson, perform, print, report, tokenOf, withApp } from "./session.ts";
import { shell } from "./shell.ts";
import { bold, dim, green, inertly, plural, red } from "./text.ts";

type Trust = OutputOf<typeof showSettings>;
type Allowed = OutputOf<typeof allowSettings>;

export const allowCommand = (common: () => Common) =>
  new Command("allow")
    .description("Allow settings of this repository that run programs, send data or weaken a protection.")
    .option("--show", "only show what waits to be allowed")
    .option("--revoke", "withdraw what was allowed for this workspace")
    .addHelpText("after", help)
    .action(async ({ show, revoke }) => {
      if (revoke) return report(common(), revokeSettings, {}, revoked);
      const { env, cwd } = shell();
      const config = unwrap(loadConfig(unwrap(findWorkspace(resolve(cwd, common().dir ?? "."))), env));
      const app = { config, now: () => new Date() };
      const trust = unwrap(await showSettings.perform(app, {}, { kind: "person", name: "", rank: "admin" }));
      if (show || trust.waiting.length === 0) return print(common(), ok(trust), described);
      print(common(), await allow(common(), app, trust), allowed);
    });

async function allow(common: Common, app: SettingsApp, trust: Trust): Promise<Result<Allowed>> {
  const input = { hash: trust.hash };
  const confirmation: Confirmation<unknown> = {
    word: "allow",
    preview: async () => ok({ text: described(inertly(trust)) }),
  };
  // A database that nobody allowed is not opened to find out who asks.
  if (app.config.trust.check("database").ok)
    return withApp(common, (opened) => perform(opened, common, allowSettings, input, confirmation));
  const token = tokenOf(common);
  if (token && !sameSecret(token, ownerToken(app.config.stateFolder)))
    return refuse("denied", "only the owner's token in .scriptorium/token can allow the database that has the others");
  const person = await gitPerson({ git: gitAt(app.config.root, app.config.environment) });
  const { decide } = await import("./decide.ts");
  const decision = { operation: allowSettings, input, person, hasToken: Boolean(token) };
  const decided = await decide(app, decision, confirmation);
  return decided.ok ? allowSettings.perform(app, input, decided.value.caller) : decided;
}

function described({ trusted_folder, waiting }: Trust): string {
  if (waiting.length === 0)
    return trusted_folder ? "nothing to allow: the workspace is in a trusted folder" : "nothing to allow";
  return waiting
    .map(({ name, changes }) =>
      [
        `${bold(name)} has settings that take effect only when you allow them:`,
        ...changes.flatMap(({ key, before, after, why }) => [
          "",
          ...(why ? [dim(`# ${why}`)] : []),
          ...(before === null ? [] : [red(`- ${key}: ${spellHidden(before)}`)]),
          ...(after === null ? [] : [green(`+ ${key}: ${spellHidden(after)}`)]),
        ]),
      ].join("\n"),
    )
    .join("\n\n");
}

const allowed = ({ allowed: keys }: Allowed) => `allowed ${plural(keys.length, "setting")} for this workspace`;

const revoked = ({ revoked: done }: OutputOf<typeof revokeSettings>) =>
  done ? "the settings of this workspace are no longer allowed" : "nothing was allowed for this workspace";

const help = `
A cloned scriptorium.yaml can name programs, servers and secrets. Such settings wait until you have allowed exactly
these values; a later change asks again. Everything else works meanwhile. Your own ~/.config/scriptorium/config.yaml
needs no confirmation, nor does a workspace below a folder in SCRIPTORIUM_TRUSTED_FOLDERS.`;
