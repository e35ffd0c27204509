/** One value that a request template asks for. */
export type TemplateParameter = {
  name: string;
  label: string;
  hint: string | null;
  optional: boolean;
  /** Several lines. */
  long: boolean;
};

const placeholder = /\{\{\s*([a-z][a-z0-9_-]*)\s*\}\}/g;

/** The names of the placeholders of a text. */
export const placeholdersIn = (text: string): string[] => [
  ...new Set([...text.matchAll(placeholder)].map(([, name]) => name ?? "")),
];

/**
 * The text with its values. A paragraph of which every value is empty is left out, and so is one that introduces it and
 * ends with a colon. Values are not searched for placeholders.
 */
export function fillTemplate(text: string, values: Readonly<Record<string, string>>): string {
  const textOf = (name: string) => (Object.hasOwn(values, name) ? (values[name] ?? "").trim() : "");
  const paragraphs = text.trim().split(/\n[ \t]*\n+/);
  const isEmpty = paragraphs.map((one) => {
    const names = placeholdersIn(one);
    return names.length > 0 && names.every((name) => textOf(name) === "");
  });
  return paragraphs
    .filter((one, at) => !isEmpty[at] && !(isEmpty[at + 1] && /:\s*$/.test(one) && placeholdersIn(one).length === 0))
    .map((one) => one.replace(placeholder, (_, name: string) => textOf(name)))
    .join("\n\n");
}

/** The parameters without a value that need one. */
export const missingValues = (parameters: readonly TemplateParameter[], values: Readonly<Record<string, string>>) =>
  parameters.filter(({ name, optional }) => !optional && !(Object.hasOwn(values, name) && values[name]?.trim()));
