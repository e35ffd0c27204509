import { scriptorium } from "./commands.ts";

const cache = new URL("../../node_modules/.cache/embedding-model", import.meta.url).pathname;

/**
 * The real model, brought by the command itself on first use and kept beside the project's packages;
 * undefined, with a loud line, where npm reaches no registry.
 */
export async function embeddingModel(workspace: string): Promise<string | undefined> {
  const folder = process.env.SCRIPTORIUM_TEST_MODEL ?? cache;
  const done = await scriptorium(["model", "install", "--json"], {
    cwd: workspace,
    env: { ...npmSettings(), SCRIPTORIUM_MODEL_FOLDER: folder },
  });
  if (done.code === 0) return folder;
  process.stderr.write(`\n*** SKIPPED: no test ran the embedding model: ${done.stderr.trim()} ***\n\n`);
  return undefined;
}

/** Where npm finds its registry on this machine. */
const npmSettings = () =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && /^(HOME|npm_config_.*|NODE_EXTRA_CA_CERTS|(https?|no)_proxy)$/i.test(name)
        ? [[name, value]]
        : [],
    ),
  );
