import { describeOperation } from "./kernel/operation.ts";
import type { OperationDescription } from "./kernel/operation-description.ts";
import { allOperations } from "./operation-list.ts";

/** The descriptions of all operations. The build replaces this module by its value: scripts/build-constants.mjs. */
export const manifest: readonly OperationDescription[] = allOperations.map(describeOperation);
