import * as z from "zod";

/** Words to search for: any string is a query, also one with a NUL, which other fields refuse. */
export const anyText = z
  .string()
  .overwrite((text) => text.replaceAll("\0", "\ufffd"))
  .trim();
