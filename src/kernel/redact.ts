const secretName = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL/i;
/** Shorter values are words that occur in any text. */
const shortest = 8;
const inAddress = /(:\/\/[^\s/:@]{0,100}):[^\s/@]{1,200}@/g;

/** Replaces the values of secret variables, the given secrets, and passwords in addresses. */
export function redactor(
  environment: Readonly<Record<string, string | undefined>>,
  secrets: readonly string[] = [],
): (text: string) => string {
  const named = Object.entries(environment).flatMap(([name, value]) => (secretName.test(name) && value ? value : []));
  const values = [...new Set([...named, ...secrets])]
    .filter((value) => value.length >= shortest)
    // The longest first: one may contain another.
    .sort((a, b) => b.length - a.length);
  return (text) =>
    values.reduce((rest, value) => rest.replaceAll(value, "[redacted]"), text).replace(inAddress, "$1:[redacted]@");
}
