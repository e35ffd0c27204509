import type { Caller } from "../kernel/caller.ts";
import { kindOf } from "../kernel/caller.ts";
import type { CallerKind } from "../kernel/operation.ts";
import type { Database } from "../store/database.ts";
import { finder } from "./find.ts";
import { indexKeeper } from "./index/keeper.ts";
import { speller } from "./index/spelling.ts";
import type { Kind } from "./kinds.ts";
import { type Embedder, localEmbedder } from "./model/embedder.ts";
import { endpointEmbedder, modelAt } from "./model/endpoint.ts";
import { isInstalled, localModel } from "./model/model.ts";
import { wordIndex } from "./rank/lexical.ts";
import { meaning } from "./rank/meaning.ts";
import { passagePlaces } from "./rank/places.ts";
import type { Scope } from "./scope.ts";

export type EmbeddingsConfig = { url: string; model: string; key: string | undefined } | undefined;

type Options = {
  db: Database;
  kinds: Kind[];
  /** Where a local model would be. */
  modelFolder: string;
  embeddings: EmbeddingsConfig;
  /** Changes when entries come into sight or go out of it without being changed themselves. */
  sections(): Promise<string[]>;
};

/** Vectors of servers we know nothing about count a little less than those we have measured. */
const unknownWeight = 0.25;

/** Everything there is to search with, over one database. */
export function openSearch({ db, kinds, modelFolder, embeddings, sections }: Options) {
  const local = () =>
    isInstalled(modelFolder) ? localEmbedder(localModel.name, modelFolder, localModel.weight) : undefined;
  const wanted: Embedder | undefined = embeddings
    ? endpointEmbedder({ ...embeddings, weight: unknownWeight })
    : local();
  /** The model that the vectors of before were made with, as far as it can still be asked. */
  const named = (model: string): Embedder | undefined => {
    if (model === localModel.name) return local();
    const before = embeddings && modelAt(model, embeddings.url);
    return before ? endpointEmbedder({ ...embeddings, model: before, weight: unknownWeight }) : undefined;
  };
  const keeper = indexKeeper(db, kinds, sections);
  const vectors = meaning(db, { wanted, named });
  const places = passagePlaces(db);
  const find = finder({ db, places, words: wordIndex(db, places), keeper, meaning: vectors, speller: speller(db) });

  return {
    catchUp: keeper.catchUp,
    pending: keeper.pending,
    rebuild: keeper.rebuild,
    find,
    meaning: vectors,
    kinds: kinds.map((kind) => kind.name),
    /** What this caller may read of the kinds they ask for, or of all. */
    scope(caller: Caller, narrowed: Omit<Partial<Scope>, "run"> = {}): Scope {
      const rank: CallerKind = kindOf(caller);
      const readable = kinds.filter((kind) => kind.readers.includes(rank)).map((kind) => kind.name);
      const run = caller.kind === "agent" && caller.task !== undefined ? caller.turn.run : undefined;
      const asked = narrowed.kinds ?? readable;
      return {
        ...narrowed,
        kinds: asked.filter((kind) => readable.includes(kind)),
        ...(run === undefined ? {} : { run }),
      };
    },
    close: () => vectors.close(),
  };
}

export type Search = ReturnType<typeof openSearch>;
