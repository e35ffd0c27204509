import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { configFile } from "../config/config.ts";
import { jsonSchema } from "../kernel/json-schema.ts";
import { privateFile, privateFolder } from "../store/disk/private.ts";
import { schemaFile } from "./schema.ts";

/** JSON Schemas for completion and validation of schema.yaml and scriptorium.yaml in editors. */
export const editorSchemas = () => ({
  "schema.json": { title: "Scriptorium schema.yaml", ...jsonSchema(schemaFile) },
  "config.json": { title: "Scriptorium scriptorium.yaml", ...jsonSchema(configFile) },
});

export async function writeEditorSchemas(stateFolder: string): Promise<void> {
  const folder = join(stateFolder, "schemas");
  await mkdir(folder, privateFolder);
  for (const [name, schema] of Object.entries(editorSchemas())) {
    await writeFile(join(folder, name), `${JSON.stringify(schema, null, 2)}\n`, privateFile);
  }
}
