import { readFileSync } from "node:fs";

/** A file of test/fixtures, written once with pdf-lib and docx. */
export const fixture = (name: string): Buffer => readFileSync(new URL(`../fixtures/${name}`, import.meta.url));
