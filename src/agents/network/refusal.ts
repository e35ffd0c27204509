import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Problem } from "../../kernel/result.ts";

const statuses: Record<Problem["code"], string> = {
  invalid: "400 Bad Request",
  denied: "403 Refused by Scriptorium",
  not_found: "502 Bad Gateway",
  refused: "502 Bad Gateway",
  conflict: "502 Bad Gateway",
  storage: "502 Bad Gateway",
};

/** In the form of the model APIs, whose clients print `error.message`. */
export function refuseRequest(response: ServerResponse, { code, message }: Problem): void {
  if (response.headersSent) return void response.destroy();
  const [status = "502", ...reason] = statuses[code].split(" ");
  response.writeHead(Number(status), reason.join(" "), { "content-type": "application/json", connection: "close" });
  response.end(`${JSON.stringify({ type: "error", error: { type: "scriptorium_proxy", message } })}\n`);
}

export function refuseTunnel(client: Duplex, { code, message }: Problem): void {
  if (!client.writable) return void client.destroy();
  const text = `${message}\n`;
  const length = Buffer.byteLength(text);
  const head = `HTTP/1.1 ${statuses[code]}\r\nContent-Type: text/plain\r\nContent-Length: ${length}\r\nConnection: close`;
  client.end(`${head}\r\n\r\n${text}`);
}
