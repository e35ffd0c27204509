import type { Caller } from "../kernel/caller.ts";
import { kindOf } from "../kernel/caller.ts";
import type { Folders } from "../kernel/markdown/links.ts";
import type { CallerKind } from "../kernel/operation-description.ts";
import type { Database } from "../store/database.ts";
import type { Scope } from "../store/queries/search/scope.ts";
import { isScopeEmpty } from "../store/queries/search/things.ts";
import { finder } from "./find.ts";
import { indexer } from "./index/indexer.ts";
import { speller } from "./index/spelling.ts";
import type { Kind } from "./kinds.ts";
import { type Embedder, localEmbedder } from "./model/embedder.ts";
import { type Endpoint, endpointEmbedder, modelAt } from "./model/endpoint.ts";
import { isInstalled, localModel } from "./model/model.ts";
import { wordIndex } from "./rank/lexical.ts";
import { meaning } from "./rank/meaning.ts";
import { passagePlaces } from "./rank/places.ts";
import type { VectorWeights } from "./rank/weights.ts";

export type EmbeddingsConfig = Omit<Endpoint, "maxWeight"> | undefined;

type Options = {
  db: Database;
  kinds: Kind[];
  /** The folder for a local model. */
  modelFolder: string;
  embeddings: EmbeddingsConfig;
  /** For resolving relative links. */
  folders: Folders;
  /** Other weights than the frozen ones, for choosing them. */
  weights?: VectorWeights;
};

/** Below the measured weights of the local model, because the quality of the server's model is unknown. */
const unknownWeight = 0.25;

export function openSearch({ db, kinds, modelFolder, embeddings, folders, weights }: Options) {
  const local = () =>
    isInstalled(modelFolder) ? localEmbedder(localModel.name, modelFolder, localModel.floor) : undefined;
  const wanted: Embedder | undefined = embeddings
    ? endpointEmbedder({ ...embeddings, maxWeight: unknownWeight })
    : local();
  /** The model of the existing vectors, if it is still available to embed queries. */
  const named = (model: string): Embedder | undefined => {
    if (model === localModel.name) return local();
    const before = embeddings && modelAt(model, embeddings.url);
    return before ? endpointEmbedder({ ...embeddings, model: before, maxWeight: unknownWeight }) : undefined;
  };
  const index = indexer(db, kinds, folders);
  const vectors = meaning(db, { wanted, named }, weights);
  const places = passagePlaces(db);
  const find = finder({
    db,
    places,
    words: wordIndex(
      db,
      places,
      kinds.map(({ name }) => name),
    ),
    indexer: index,
    meaning: vectors,
    speller: speller(db),
    weights: new Map(kinds.map(({ name, weight = 1 }) => [name, weight])),
  });

  return {
    catchUp: index.catchUp,
    refresh: index.refresh,
    pending: index.pending,
    rebuild: index.rebuild,
    find,
    meaning: vectors,
    kinds: kinds.map((kind) => kind.name),
    isEmpty: (scope: Scope) => isScopeEmpty(db, scope),
    /** The requested kinds, or all, as far as this caller may read them. */
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
