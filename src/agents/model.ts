import { ok, unwrap } from "../kernel/result.ts";
import { conversation } from "./model/conversation.ts";
import { guarded } from "./model/guard.ts";
import { limitsOf, type OwnModelLimits } from "./model/model-limits.ts";
import type { Prices } from "./model/prices.ts";
import { languageModel, type Providers, providerFor } from "./model/providers.ts";
import { notStarted } from "./programs/command.ts";
import type { Runner } from "./runner.ts";

type Options = {
  providers: Providers;
  /** The default model. */
  model?: string;
  /** Limits of models that are not known, or that a server sets lower. */
  models?: OwnModelLimits;
  prices?: Prices;
  retries?: { most: number; firstMs: number };
};

/** A model over its provider's API, as an agent in this process. */
export function modelRunner({
  providers,
  model: defaultModel,
  models,
  prices,
  retries = { most: 5, firstMs: 1000 },
}: Options): Runner {
  return {
    name: "model",
    check({ model }) {
      const found = providerFor(model ?? defaultModel, providers);
      return found.ok ? ok(true) : found;
    },
    async run(spec, outer) {
      const began = Date.now();
      const name = spec.model ?? defaultModel ?? "";
      const opened = await languageModel(name, providers);
      if (!opened.ok) return notStarted(opened.problem.message);
      const provider = unwrap(providerFor(name, providers));
      const guard = guarded(spec, outer);
      const limits = limitsOf(name, models);
      const loop = conversation({ spec, name, provider, model: opened.value, limits, prices, retries, guard });
      try {
        const end = await loop.go();
        const used = { usage: loop.usage(), costUsd: loop.costUsd(), compactions: loop.compactions() };
        return { ...end, ...used, durationMs: Date.now() - began };
      } finally {
        guard.done();
      }
    },
  };
}
