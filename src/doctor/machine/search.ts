import type { Config } from "../../config/config.ts";
import { isInstalled, localModel } from "../../search/model/model.ts";
import { type Finding, findingsOf } from "../finding.ts";
import { answers } from "./reach.ts";

export async function checkEmbeddings({ embeddings, modelFolder }: Config): Promise<Finding[]> {
  const { ok, missing, optional } = findingsOf("search", "embeddings");
  if (embeddings) {
    const { url, model } = embeddings;
    if (await answers(`${url}/models`)) return [ok(`${model} at ${url}`)];
    const fix = "start the server, or change search.embeddings in scriptorium.yaml";
    return [missing(`the embedding server ${url} does not answer; search uses words and links only`, fix)];
  }
  if (isInstalled(modelFolder)) return [ok(`${localModel.name} is installed`)];
  return [optional("no embedding model: search uses words and links, not meaning", "scriptorium model install")];
}
