import * as z from "zod";

const modes = ["off", "model-only", "open"] as const;

/** How much network an agent has that runs as a program. */
export type NetworkMode = (typeof modes)[number];

/** `true` and `false` are the spellings of 0.1. */
export const networkMode = z
  .union([z.enum(modes), z.boolean()], { error: `expected ${modes.join(", ")}` })
  .default("model-only")
  .transform((value): NetworkMode => (value === true ? "open" : value === false ? "off" : value))
  .describe(
    "Network of agent CLIs. `off`: none. `model-only`: their model's API, and `network_hosts`. `open`: every public address. Always through a proxy that records each destination; loopback and private networks only if listed in `network_hosts`. Commands and checks have none. `true` and `false` are older spellings of `open` and `off`",
  );

const host = /^((\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(:\d{1,5})?$/i;

export const networkHosts = z
  .array(z.string().max(260).regex(host, "expected a host such as models.example.org, *.example.org or 127.0.0.1:8080"))
  .max(50)
  .default([])
  .describe(
    "Further hosts that agent CLIs can reach in `model-only`, each with an optional port (80 and 443 if left out). A loopback address with a port is reachable under the same address in the sandbox",
  );
