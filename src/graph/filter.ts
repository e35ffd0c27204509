import * as z from "zod";
import { propertyName, scalar } from "./node.ts";

/** A condition on a property. JSON values are compared: 1 equals neither "1" nor true. */
export const condition = z
  .object({
    property: propertyName,
    op: z
      .enum(["eq", "ne", "gt", "lt", "in", "contains", "exists"])
      .describe(
        "ne also matches nodes without the property; gt and lt compare numbers or texts; " +
          "contains matches a part of a text or an item of a list",
      ),
    value: z
      .union([scalar, z.array(scalar).max(100)])
      .optional()
      .describe("A list for in; with exists, false matches nodes without the property"),
  })
  .superRefine(({ op, value }, context) => {
    const trouble = troubleWith(op, value);
    if (trouble) context.addIssue({ code: "custom", message: trouble });
  });

type Condition = z.infer<typeof condition>;

function troubleWith(op: Condition["op"], value: Condition["value"]): string | undefined {
  if (op === "exists")
    return value === undefined || typeof value === "boolean" ? undefined : "exists needs true or false";
  if (op === "in") return Array.isArray(value) ? undefined : "in needs a list of values";
  if (value === undefined || Array.isArray(value)) return `${op} needs one value`;
  if ((op === "gt" || op === "lt") && typeof value === "boolean") return `${op} needs a number or a text`;
  return undefined;
}
