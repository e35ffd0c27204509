import { readFileSync, unwatchFile, watchFile } from "node:fs";
import type { Server } from "node:http";
import type { Server as TlsServer } from "node:https";
import { resolve } from "node:path";
import { createSecureContext } from "node:tls";
import type { Log } from "../kernel/log.ts";
import { Refused } from "../kernel/result.ts";

type Files = { cert: Buffer; key: Buffer };

export type Certificate = {
  files(): Files;
  /** New connections of this server get the certificate that is on disk. */
  use(server: Server): void;
  close(): void;
};

const checkEveryMs = 2000;

/**
 * The certificate and key of the server. Renewal replaces one file after the other: a pair that does not fit together
 * is not used, and the last one that did stays. Compared by content of the path, because certbot replaces links.
 */
export function openCertificate(tls: { certificate: string; key: string }, root: string, log: Log): Certificate {
  const paths = [tls.certificate, tls.key].map((path) => resolve(root, path));
  const servers: TlsServer[] = [];
  const read = (): Files => {
    const [cert, key] = paths.map((path) => readFileSync(path)) as [Buffer, Buffer];
    createSecureContext({ cert, key });
    return { cert, key };
  };
  let current: Files;
  try {
    current = read();
  } catch (error) {
    throw new Refused({ code: "invalid", message: `tls: ${(error as Error).message} (${paths.join(", ")})` });
  }

  function reload(): void {
    try {
      const next = read();
      if (next.cert.equals(current.cert) && next.key.equals(current.key)) return;
      for (const server of servers) server.setSecureContext(next);
      current = next;
      log.info({ file: paths[0] }, "certificate-loaded");
    } catch (error) {
      log.warn({ error: (error as Error).message }, "certificate-invalid");
    }
  }

  for (const path of paths) watchFile(path, { interval: checkEveryMs, persistent: false }, reload);
  return {
    files: () => current,
    use: (server) => void servers.push(server as TlsServer),
    close() {
      for (const path of paths) unwatchFile(path, reload);
    },
  };
}
