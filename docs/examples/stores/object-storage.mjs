// A store in object storage with conditional writes, such as Amazon S3, MinIO or Cloudflare R2:
//
//   latest/<id>          the latest version, replaced by compare-and-swap on its ETag
//   earlier/<id>/<n>     version n, copied there before it is replaced
//
// A crash between the two leaves a copy of the latest version, which the next write overwrites with the same content.
// @ts-check

/** @import { EntryStore, StoredVersion } from "scriptorium/contract" */

/**
 * @param {object} options
 * @param {string} options.bucket Address of the bucket, such as https://books.s3.eu-central-1.amazonaws.com
 * @param {string} [options.prefix] Start of every key, such as handbook/
 * @param {typeof fetch} [options.send] Signs and sends a request; `fetch` for a bucket that needs no signature
 * @param {(name: string) => void} [options.step] Called between the two writes; for checkStore
 * @returns {EntryStore}
 */
export function objectStore({ bucket, prefix = "", send = fetch, step = () => undefined }) {
  /** The version of an object that has not changed since: a list has ETags, but not versions. @type {Map<string, { etag: string, version: number }>} */
  const known = new Map();
  const latestKey = (/** @type {string} */ id) => `${prefix}latest/${id}`;
  const earlierKey = (/** @type {string} */ id, /** @type {number} */ version) => `${prefix}earlier/${id}/${version}`;
  const addressOf = (/** @type {string} */ key) => `${bucket}/${key.split("/").map(encodeURIComponent).join("/")}`;

  /** @param {string} key */
  async function get(key) {
    const response = await send(addressOf(key), { method: "GET" });
    if (response.status === 404) return undefined;
    if (!response.ok) throw new Error(`GET ${key}: ${response.status} ${await response.text()}`);
    const stored = /** @type {StoredVersion} */ (await response.json());
    return { stored, etag: response.headers.get("etag") ?? "" };
  }

  /**
   * False when the condition does not hold: another writer was faster.
   * @param {string} key
   * @param {StoredVersion} stored
   * @param {Record<string, string>} [condition]
   */
  async function put(key, stored, condition = {}) {
    const headers = { "content-type": "application/json", ...condition };
    const response = await send(addressOf(key), { method: "PUT", headers, body: JSON.stringify(stored) });
    // 409: two conditional writes at the same moment.
    if (response.status === 412 || response.status === 409) return false;
    if (!response.ok) throw new Error(`PUT ${key}: ${response.status} ${await response.text()}`);
    return true;
  }

  /** @returns {AsyncGenerator<{ key: string, etag: string }>} */
  async function* objects() {
    const start = `${prefix}latest/`;
    for (let token = ""; ; ) {
      const query = new URLSearchParams({ "list-type": "2", prefix: start });
      if (token) query.set("continuation-token", token);
      const response = await send(`${bucket}/?${query}`, { method: "GET" });
      if (!response.ok) throw new Error(`list ${start}: ${response.status} ${await response.text()}`);
      const text = await response.text();
      for (const [, one = ""] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs))
        yield { key: element(one, "Key"), etag: element(one, "ETag") };
      token = element(text, "NextContinuationToken");
      if (!token) return;
    }
  }

  return {
    async list() {
      const found = [];
      for await (const { key, etag } of objects()) {
        const id = key.slice(`${prefix}latest/`.length);
        const cached = known.get(id);
        if (cached?.etag === etag) {
          found.push({ id, version: cached.version });
          continue;
        }
        const read = await get(key);
        if (!read) continue;
        known.set(id, { etag: read.etag, version: read.stored.version });
        found.push({ id, version: read.stored.version });
      }
      return found;
    },

    async read(id, version) {
      const latest = (await get(latestKey(id)))?.stored;
      if (version === undefined || latest?.version === version) return latest;
      if (!latest || version > latest.version) return undefined;
      return (await get(earlierKey(id, version)))?.stored;
    },

    async write(id, next) {
      const latest = await get(latestKey(id));
      if ((latest?.stored.version ?? 0) !== next.version - 1) return false;
      step("before the copy");
      if (latest) await put(earlierKey(id, latest.stored.version), latest.stored);
      step("copied");
      const written = await put(latestKey(id), next, latest ? { "if-match": latest.etag } : { "if-none-match": "*" });
      step("written");
      return written;
    },
  };
}

/** @param {string} xml @param {string} name */
const element = (xml, name) =>
  (new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? "")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

/** @type {import("scriptorium/contract").OpenStore} */
export default ({ name }) => {
  const bucket = process.env.BOOK_BUCKET;
  if (!bucket) throw new Error("set BOOK_BUCKET to the address of the bucket");
  return objectStore({ bucket, prefix: `${name}/` });
};
