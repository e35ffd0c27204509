import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Refused } from "../../kernel/result.ts";
import type { VersionStore } from "./version-store.ts";

/** Opens the store of a module that `store` in scriptorium.yaml names. The caller has checked that it is allowed. */
export async function loadStore(module: string, workspace: { root: string; name: string }): Promise<VersionStore> {
  const file = resolve(workspace.root, module);
  if (!existsSync(file)) throw misfit(module, `${file} does not exist`);
  const loaded = await importFile(pathToFileURL(file).href).catch((cause: unknown) => {
    throw misfit(module, `the module could not be loaded: ${reason(cause)}`);
  });
  const open = loaded.default;
  if (typeof open !== "function") {
    const found = open === undefined ? "nothing" : typeof open;
    throw misfit(module, `its default export must be a function that opens the store, and it is ${found}`);
  }
  let store: unknown;
  try {
    store = await open(workspace);
  } catch (cause) {
    throw misfit(module, `it could not be opened: ${reason(cause)}`);
  }
  const missing = ["list", "read", "write"].filter(
    (name) => typeof (store as Record<string, unknown> | null | undefined)?.[name] !== "function",
  );
  if (missing.length > 0) throw misfit(module, `the store has no function ${missing.join(", ")}`);
  return store as VersionStore;
}

/** The build replaces this `import`, which does not work in code from the cache (scripts/build.mjs). */
const importFile = (moduleUrl: string): Promise<{ default?: unknown }> => import(moduleUrl);

const reason = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause));

const misfit = (module: string, why: string) =>
  new Refused({ code: "invalid", message: `scriptorium.yaml names the store ${module}: ${why}` });
