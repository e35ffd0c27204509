import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A server as those of Ollama or OpenAI, whose vectors count words. */
export async function embeddingServer() {
  const same: Record<string, string> = { feline: "cat" };
  const vectorOf = (text: string) => {
    const vector = new Array(1024).fill(0.001);
    for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
      let at = 7;
      for (const letter of same[word] ?? word) at = (at * 31 + letter.charCodeAt(0)) % 1021;
      vector[at] += 1;
    }
    return vector;
  };
  let asked = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input: string[] };
    asked += input.length;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ data: input.map((text, index) => ({ index, embedding: vectorOf(text) })) }));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(stop);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked: () => asked, stop };
}
