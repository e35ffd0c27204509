import { onTestFinished } from "vitest";
import { type ServerOptions, startModelServer } from "./model-wire.ts";

/** A model on loopback that is gone after the test. */
export async function modelServer(reply: Parameters<typeof startModelServer>[0], options: ServerOptions = {}) {
  const server = await startModelServer(reply, options);
  onTestFinished(server.close);
  return server;
}
