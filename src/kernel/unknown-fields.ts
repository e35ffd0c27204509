import * as z from "zod";
import { innerType } from "./camel.ts";
import { suggest } from "./nearest.ts";

/** Fields of `value` that `type` does not declare, each as a sentence with the declared name that was likely meant. */
export function unknownFields(type: z.core.$ZodType, value: unknown, path = ""): { path: string; message: string }[] {
  if (value === null || typeof value !== "object") return [];
  if (type instanceof z.ZodArray) {
    const items: unknown[] = Array.isArray(value) ? value : [];
    return items.flatMap((item, index) => unknownFields(type.element, item, `${path}${index}.`));
  }
  if (type instanceof z.ZodObject) {
    const known = Object.keys(type.shape);
    // A strict object rejects unknown fields itself, without the likely name.
    const isOpen = type.def.catchall !== undefined && !(type.def.catchall instanceof z.ZodNever);
    return Object.entries(value).flatMap(([name, member]) => {
      const field = Object.hasOwn(type.shape, name) ? type.shape[name] : undefined;
      if (field) return unknownFields(field, member, `${path}${name}.`);
      return isOpen || member === undefined
        ? []
        : [{ path: `${path}${name}`, message: `unknown field; ${suggest(name, known)}` }];
    });
  }
  const inner = innerType(type);
  return inner ? unknownFields(inner, value, path) : [];
}
