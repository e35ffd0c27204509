import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** Object storage with ETags, If-Match, If-None-Match and pages of a list, as Amazon S3 has them. */
export async function startObjectStorage(pageSize = 7): Promise<string> {
  const objects = new Map<string, { body: string; etag: string }>();
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://bucket");
    const key = decodeURIComponent(pathname.slice(1));
    const held = objects.get(key);
    if (request.method === "GET" && key === "") {
      const start = searchParams.get("prefix") ?? "";
      const after = searchParams.get("continuation-token") ?? "";
      const keys = [...objects.keys()].filter((name) => name.startsWith(start) && name > after).sort();
      const page = keys.slice(0, pageSize);
      const items = page.map((name) => {
        const etag = objects.get(name)?.etag.replaceAll('"', "&quot;");
        return `<Contents><Key>${name.replaceAll("&", "&amp;")}</Key><ETag>${etag}</ETag></Contents>`;
      });
      const more = keys.length > pageSize ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
      return void response.end(`<ListBucketResult>${items.join("")}${more}</ListBucketResult>`);
    }
    if (request.method === "GET") {
      if (!held) return void response.writeHead(404).end();
      return void response.writeHead(200, { etag: held.etag }).end(held.body);
    }
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const now = objects.get(key);
    const wanted = request.headers["if-match"];
    if ((request.headers["if-none-match"] === "*" && now) || (wanted !== undefined && wanted !== now?.etag))
      return void response.writeHead(412).end("<Code>PreconditionFailed</Code>");
    const etag = `"${createHash("md5").update(body).digest("hex")}"`;
    objects.set(key, { body, etag });
    response.writeHead(200, { etag }).end();
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
