import type { Boot } from "../src/http/web-types.ts";

const element = document.getElementById("boot");

/** Data that the server wrote into the page: the person, the workspace and the operations. */
export const boot: Boot = JSON.parse(element?.textContent || "{}");
export const nonce = element?.nonce ?? "";

/** Libraries that write style elements look for it here. */
(globalThis as { __webpack_nonce__?: string }).__webpack_nonce__ = nonce;
