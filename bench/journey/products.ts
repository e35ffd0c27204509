import type { Place } from "../support/place.ts";
import type { Tools } from "./mcp.ts";
import type { Person } from "./steps.ts";

export const journeys = [
  "a page in the browser",
  "a first task",
  "an agent's first write by MCP",
  "a job to a proposal",
  "a crew run",
  "a demo crew run",
] as const;
export type Journey = (typeof journeys)[number];

/** A product with the journeys that it offers. Each starts in an empty repository with the product installed. */
export type Product = {
  name: string;
  /** What `npm install --global` is given. */
  spec: string;
  walks: Partial<Record<Journey, (person: Person, place: Place) => Promise<Tools | undefined>>>;
  /** Why a journey is missing, or what its steps leave out. */
  notes: string[];
};
