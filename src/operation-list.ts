import type * as z from "zod";
import type { CrewApp } from "./crew/record/crew-app.ts";
import type { Operation } from "./kernel/operation.ts";
import { loaders, type OperationName, type Operations } from "./operation-loaders.ts";
import type { PeopleApp } from "./people/people-app.ts";

/** Every operation, loaded. For what needs all of them: the server's routes, the reference, tests. */
export const operations = await loadAll();

type WholeApp = CrewApp & PeopleApp;

export const allOperations: Operation<WholeApp>[] = Object.values(operations);

const byName: { [N in OperationName]: Operation<WholeApp, z.ZodType, Operations[N]["output"]> } = operations;

/** An operation by a name that is only known when it is called; its answer is typed all the same. */
export const operationNamed = <N extends OperationName>(name: N) => byName[name];

async function loadAll(): Promise<Operations> {
  const loaded = Object.entries(loaders).map(async ([name, load]) => [name, await load()]);
  // Object.fromEntries loses the type of each name's operation.
  return Object.fromEntries(await Promise.all(loaded)) as Operations;
}
