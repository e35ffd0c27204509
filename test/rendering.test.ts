import { request } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { scriptorium, serve, serveProcess } from "./support/commands.ts";
import { ask } from "./support/requests.ts";
import { newWorkspace } from "./support/workspace.ts";

/** A text that takes the parser minutes; each name gives another one, which no cache knows. */
const slow = (name: string, size = 30_000) => `${name} ${"[a](".repeat(size)}`;

const page = "/api/rendered/page?path=wiki/vision.md";
const comparison = (name: string) => ({ before: slow(`${name} before`), after: slow(`${name} after`) });

async function twoClients() {
  const { root } = await newWorkspace();
  const made = await scriptorium(["token", "create", "--person", "Second", "--rank", "admin", "--json"], { cwd: root });
  const { url, token } = await serveProcess(root);
  const second = made.json<{ token: string }>().token;
  for (const id of ["vision", "glossary"]) {
    const { version } = (await ask(url, `/api/entries/${id}`, { token })).json();
    await ask(url, `/api/entries/${id}`, { method: "PUT", token, body: { content: `# About ${id}\n`, version } });
  }
  return { url, first: token, second };
}

/** Values of the renderer in /metrics, by name and label: `threads.busy`, `waiting.waiting`, `settled.slow`. */
async function load(url: string, token: string): Promise<Record<string, number>> {
  const { text } = await ask(url, "/metrics", { token });
  const found = text.matchAll(/^scriptorium_render_(\w+)\{state="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...found].map(([, name, state, value]) => [`${name}.${state}`, Number(value)]));
}

/** A request that its client gives no time to be answered. */
function abandonable(url: string, path: string, token: string, body: object) {
  const { hostname, port } = new URL(url);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const sent = request({ hostname, port, path, method: "POST", headers, agent: false });
  sent.on("error", () => undefined);
  sent.end(JSON.stringify(body));
  onTestFinished(() => void sent.destroy());
  return sent;
}

describe("S7: rendering for one client", () => {
  test("S7, T23: while hostile comparisons are rendered, another client's page and /healthz are answered first", async () => {
    const { url, first, second } = await twoClients();
    const order: string[] = [];
    const hostile = ["one", "two"].map((name) =>
      ask(url, "/api/rendered/comparison", { method: "POST", token: first, body: comparison(name) }),
    );
    const refused = Promise.all(hostile).then((answers) => {
      order.push("comparisons");
      return answers;
    });
    await expect.poll(async () => (await load(url, second))["threads.busy"]).toBe(1);
    expect((await ask(url, page, { token: second })).json().html).toContain("<h1");
    order.push("page");
    expect((await ask(url, "/healthz")).status).toBe(200);
    order.push("healthz");
    const answers = await refused;
    expect(order).toEqual(["page", "healthz", "comparisons"]);
    for (const answer of answers) {
      expect(answer.status).toBe(422);
      expect(answer.json()).toEqual({
        status: "refused",
        error: "this comparison is not rendered because rendering takes too long; compare the source texts",
        reason: "rendering takes too long",
      });
    }
  });

  test("S7: a comparison with many changes and definitions is rendered", async () => {
    const { root } = await newWorkspace();
    const { url, token } = await serve(root);
    const definitions = Array.from({ length: 200 }, (_, n) => `[name ${n}]: https://example.test/${n}\n`).join("");
    const text = (word: string) =>
      Array.from({ length: 100 }, (_, n) => `${n % 2 ? word : "same"} [name ${n}]\n\n`).join("") + definitions;
    const body = { before: text("old"), after: text("new") };
    const answer = await ask(url, "/api/rendered/comparison", { method: "POST", token, body });
    expect(answer.status).toBe(200);
    const kinds = (answer.json().stretches as { kind: string }[]).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "added")).toHaveLength(50);
  });

  test("S7: the work for a client that leaves ends, in a thread and in the queue", async () => {
    const { url, first, second } = await twoClients();
    const texts = Array.from({ length: 50 }, (_, n) => slow(`left ${n}`));
    const left = [
      abandonable(url, "/api/rendered/comparison", first, comparison("left")),
      abandonable(url, "/api/rendered/texts", second, { texts: texts.map((text) => text.slice(0, 60_000)) }),
    ];
    await expect.poll(async () => (await load(url, first))["threads.busy"]).toBeGreaterThan(0);
    await expect.poll(async () => (await load(url, first))["waiting.waiting"]).toBeGreaterThan(0);
    for (const request of left) request.destroy();
    await expect
      .poll(() => load(url, first))
      .toMatchObject({ "threads.busy": 0, "waiting.waiting": 0, "settled.cancelled": expect.any(Number) });
    const after = await load(url, first);
    expect(after["settled.cancelled"]).toBeGreaterThan(40);
  });

  test("S7: 500 hostile texts share one time limit and delay neither another client nor another page of the same one", async () => {
    const { url, first, second } = await twoClients();
    const texts = Array.from({ length: 500 }, (_, n) => slow(`text ${n}`, 2_000));
    const order: string[] = [];
    const many = ask(url, "/api/rendered/texts", { method: "POST", token: first, body: { texts } });
    const answered = many.then((answer) => {
      order.push("texts");
      return answer;
    });
    await expect.poll(async () => (await load(url, second))["waiting.waiting"]).toBeGreaterThan(400);
    expect((await ask(url, page, { token: second })).json().html).toContain("<h1");
    order.push("other client");
    expect((await ask(url, page.replace("vision", "glossary"), { token: first })).json().html).toContain("<h1");
    order.push("same client");
    const { htmls } = (await answered).json() as { htmls: string[] };
    expect(order).toEqual(["other client", "same client", "texts"]);
    expect(htmls).toHaveLength(500);
    const unformatted = htmls.filter((html) => html.includes("shown unformatted because rendering takes too long"));
    expect(unformatted.length).toBeGreaterThan(0);
    for (const html of unformatted) expect(html).toContain("[a]([a](");
    await expect.poll(async () => (await load(url, first))["waiting.waiting"]).toBe(0);
  });

  test.each([
    ["half-written links", "[a](".repeat(60_000)],
    ["declarations", "a <!A ".repeat(40_000)],
    ["quotes hidden from the scan behind a fence that is none", `\`\`\` \`\n${"> ".repeat(20_000)}a`],
  ])("T23: a text that the scan does not reject is stopped by the clock: %s", async (_name, text) => {
    const { root } = await newWorkspace();
    const { url, token } = await serve(root);
    const answer = await ask(url, "/api/rendered/texts", { method: "POST", token, body: { texts: [text] } });
    const [html = ""] = answer.json().htmls as string[];
    expect(html).toMatch(
      /^<p class="note">This text is shown unformatted because (rendering takes too long|it is nested)/,
    );
    expect(html).toContain('<pre class="plain-text">');
  });

  test("S7: texts that are too large to read quickly are refused", async () => {
    const { root } = await newWorkspace();
    const { url, token } = await serve(root);
    const body = { before: "a".repeat(3_000_000), after: "b".repeat(3_000_000) };
    const answer = await ask(url, "/api/rendered/comparison", { method: "POST", token, body });
    expect([answer.status, answer.json().error]).toEqual([
      413,
      "the texts are too large to render; the maximum is 4 MiB",
    ]);
  });
});
