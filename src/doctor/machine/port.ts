import { createServer } from "node:net";
import type { Config } from "../../config/config.ts";
import { type Finding, findingsOf } from "../finding.ts";
import { answers } from "./reach.ts";

/** Whether `scriptorium serve` can listen on its port, or already does. */
export async function checkPort({ port }: Config): Promise<Finding[]> {
  const { ok, warning } = findingsOf("serve", "port");
  if (port === 0) return [ok("any free port")];
  if (await isFree(port)) return [ok(`${port} is free`)];
  const health = await answers(`http://127.0.0.1:${port}/healthz`);
  if (health?.body === '{"status":"ok"}') {
    const ready = await answers(`http://127.0.0.1:${port}/readyz`);
    const running = `a Scriptorium server is running at http://127.0.0.1:${port}`;
    if (ready?.body.includes('"not_ready"'))
      return [warning(`${running}, and its database does not answer`, "scriptorium doctor, when the database is back")];
    if (ready?.body.includes('"upgrade_needed"'))
      return [warning(`${running}; it is older than the database`, "install the newer version and restart it")];
    return ready?.body.includes('"restart_needed",')
      ? [warning(`${running}; restart needed, because scriptorium.yaml changed`, "restart scriptorium serve")]
      : [ok(running)];
  }
  return [warning(`another program listens on port ${port}`, "scriptorium serve --port 0")];
}

const isFree = (port: number) =>
  new Promise<boolean>((done) => {
    const server = createServer();
    server.once("error", () => done(false));
    server.listen(port, "127.0.0.1", () => server.close(() => done(true)));
  });
