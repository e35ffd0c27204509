import { pageHeader } from "../../src/http/web-types.ts";

// localStorage belongs to one origin, port included. A cookie is sent to every port of its host.
const key = "scriptorium-page-secret";

export const storePageSecret = (secret: string): void => localStorage.setItem(key, secret);
export const forgetPageSecret = (): void => localStorage.removeItem(key);
export const hasPageSecret = (): boolean => localStorage.getItem(key) !== null;

/** Shows the server that a request comes from a page of its own. */
export const fromPage = (): Record<string, string> => ({ [pageHeader]: localStorage.getItem(key) ?? "" });
