import "./sign-in.css";
import type { SignInBoot } from "../../src/http/web-types.ts";
import { storePageSecret } from "../client/page-secret.ts";

/**
 * The page that signs a person in. It sends the code of the link by POST and stores the page secret that it gets back,
 * where only pages of this origin can read it.
 */
const boot: SignInBoot = JSON.parse(element("boot").textContent || "{}");

type Answer = {
  page_secret?: string;
  to?: string;
  url?: string;
  signed_in_as?: string;
  error?: string;
  message?: string;
};
type Way = (replace: boolean) => Promise<void>;

async function post(path: string, body: object): Promise<{ status: number; said: Answer }> {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: answer.status, said: await answer.json() };
}

async function withLink(replace: boolean): Promise<void> {
  const address = new URLSearchParams(location.search);
  const [code, token] = [address.get("code"), address.get("token")];
  await take(await post("/sign-in", { ...(code ? { code } : { token }), replace }), withLink);
}

async function withPasskey(replace: boolean): Promise<void> {
  const { startAuthentication } = await import("@simplewebauthn/browser");
  const { said } = await post("/sign-in/passkey/options", {});
  const response = await startAuthentication({
    optionsJSON: said as Parameters<typeof startAuthentication>[0]["optionsJSON"],
  });
  await take(await post("/sign-in/passkey", { response, replace }), withPasskey);
}

async function toProvider(): Promise<void> {
  const { said } = await post("/sign-in/oidc/start", { to: boot.to });
  if (said.url) return location.assign(said.url);
  throw new Error(said.error ?? "The server did not answer.");
}

/** The address of this page has the provider's answer. It works once, so it leaves the history of the browser. */
async function fromProvider(): Promise<void> {
  const { search } = location;
  history.replaceState(null, "", "/sign-in");
  const { status, said } = await post("/sign-in/oidc", { search });
  await take({ status, said }, fromProvider);
}

async function take({ status, said }: Awaited<ReturnType<typeof post>>, again: Way): Promise<void> {
  if (said.page_secret) {
    storePageSecret(said.page_secret);
    location.replace(said.to ?? boot.to);
    return;
  }
  if (status === 409) return ask(said.signed_in_as ?? "", again);
  show([said.error ?? said.message ?? `The server responded with status ${status}.`]);
  buttons(providerButton(), passkeyButton());
}

function ask(current: string, again: Way): void {
  const other = boot.person ? ` as ${boot.person}` : " as another person";
  show([`You are signed in as ${current}. Sign in${other} instead?`]);
  buttons(
    button(`Sign in${other}`, () => again(true), "main"),
    button(`Stay signed in as ${current}`, leave),
  );
}

const leave = async () => location.replace(boot.to);

function start(): void {
  if (boot.oidc?.is_callback) {
    show(["Signing in…"]);
    return run(fromProvider);
  }
  if (boot.link === "valid") {
    const offer = `Sign in to ${boot.workspace} as ${boot.person}?`;
    if (boot.is_own_click) return run(() => withLink(false));
    show([offer]);
    return buttons(button(`Sign in as ${boot.person}`, () => withLink(false), "main"));
  }
  if (boot.link === "none" && boot.is_from_elsewhere) return location.replace(boot.to);
  if (boot.link === "expired")
    show([
      "This sign-in link has expired or was already used.",
      "Run scriptorium session link in the workspace for another, or ask an admin.",
    ]);
  if (boot.oidc && boot.link === "none") show(["You are not signed in, or your session has ended."]);
  buttons(providerButton(), passkeyButton());
}

const providerButton = () => (boot.oidc ? button(`Sign in with ${boot.oidc.label}`, toProvider, "main") : undefined);

const passkeyButton = () =>
  boot.passkeys && "PublicKeyCredential" in window
    ? button("Sign in with a passkey", () => withPasskey(false), "main")
    : undefined;

function run(work: () => Promise<void>): void {
  element("problem").textContent = "";
  work().catch((error: Error) => {
    const isCancelled = error.name === "NotAllowedError" || error.name === "AbortError";
    element("problem").textContent = isCancelled ? "No passkey was used." : error.message;
  });
}

function show(lines: string[]): void {
  element("text").replaceChildren(
    ...lines.map((line) => Object.assign(document.createElement("p"), { textContent: line })),
  );
}

function buttons(...shown: (HTMLButtonElement | undefined)[]): void {
  element("buttons").replaceChildren(...shown.filter((one) => one !== undefined));
}

function button(label: string, work: () => Promise<void>, className = ""): HTMLButtonElement {
  const made = Object.assign(document.createElement("button"), { type: "button", textContent: label, className });
  made.addEventListener("click", () => run(work));
  return made;
}

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found;
}

start();
