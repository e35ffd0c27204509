import { crewBlock } from "../../src/config/crew.ts";

/** The resource limits of a sandbox that the configuration does not change. */
export const defaultLimits = crewBlock.parse({}).limits;
