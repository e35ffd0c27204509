import { onTestFinished } from "vitest";
import { startModelServer } from "./model-wire.ts";

/** A model on loopback that is gone after the test. */
export async function modelServer(reply: Parameters<typeof startModelServer>[0]) {
  const server = await startModelServer(reply);
  onTestFinished(server.close);
  return server;
}
