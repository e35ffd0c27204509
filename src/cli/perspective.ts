import { Command } from "@commander-js/extra-typings";
import { refreshPerspective } from "../jobs/perspective-operations.ts";
import { ok, refuse } from "../kernel/result.ts";
import { listPersonas, showPerspective } from "../review/perspectives/operations.ts";
import { startHere } from "./job.ts";
import { type Common, localPerson, print, report, withApp } from "./session.ts";
import { table, yellow } from "./text.ts";

export const perspectiveCommand = (common: () => Common) =>
  new Command("perspective")
    .description("read and refresh perspectives: pages rewritten for a persona")
    .addCommand(
      new Command("personas")
        .description(listPersonas.summary)
        .argument("[page]", "include the personas defined in this page")
        .action((page) =>
          report(common(), listPersonas, { source_path: page }, { text: listed, json: (found) => found.personas }),
        ),
    )
    .addCommand(
      new Command("show")
        .description(showPerspective.summary)
        .argument("<page>", "the page, such as docs/deploy.md")
        .requiredOption("--persona <name>", "persona that the page was written for")
        .action((page, { persona }) =>
          report(common(), showPerspective, { source_path: page, persona }, ({ stale, because, content }) =>
            stale
              ? `${yellow(`stale: the ${because.join(" and the ")} changed since it was written`)}\n\n${content}`
              : content,
          ),
        ),
    )
    .addCommand(
      new Command("refresh")
        .description(refreshPerspective.summary)
        .argument("<page>", "the page, such as docs/deploy.md")
        .requiredOption("--persona <name>", "persona to write the page for")
        .option("--force", "even if it is up to date")
        .option("--wait", "wait until it is written; exit code 0 only if it succeeded")
        .action((page, { persona, force, wait }) => {
          const asked = { source_path: page, persona, force };
          return withApp(common(), async (app) => {
            const known = await showPerspective.perform(app, asked, await localPerson(app, common()));
            if (known.ok && !known.value.stale && !force) {
              const value = ok({ status: "fresh", job_id: null });
              return print(common(), value, () => `${page} is up to date for ${persona}`);
            }
            await startHere(
              app,
              common(),
              async (caller) => {
                const started = await refreshPerspective.perform(
                  app,
                  asked,
                  caller,
                  app.idempotency.once(common().idempotencyKey),
                );
                if (!started.ok) return started;
                const { job_id } = started.value;
                return job_id ? ok({ job_id }) : refuse("conflict", `${page} was written for ${persona} just now`);
              },
              wait ?? false,
            );
          });
        }),
    );

function listed({ personas }: { personas: { name: string; description: string; from: string }[] }): string {
  if (personas.length === 0) return "no personas; define one under personas: in scriptorium.yaml";
  return table(personas.map((p) => [p.name, p.from, p.description]));
}
