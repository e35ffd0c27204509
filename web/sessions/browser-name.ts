// In this order: Edge and Opera also call themselves Chrome, and Chrome calls itself Safari.
const browsers: [RegExp, string][] = [
  [/\bEdg\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bFirefox\//, "Firefox"],
  [/\b(Headless)?Chrome\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];
const systems: [RegExp, string][] = [
  [/\bAndroid\b/, "Android"],
  [/\b(iPhone|iPad)\b/, "iOS"],
  [/\bMac OS X\b/, "macOS"],
  [/\bWindows\b/, "Windows"],
  [/\bLinux\b/, "Linux"],
];

/** A browser in two words, such as "Firefox on Linux", from the name that it gives itself. */
export function browserName(userAgent: string): string {
  const found = (list: [RegExp, string][]) => list.find(([pattern]) => pattern.test(userAgent))?.[1];
  const [browser, system] = [found(browsers), found(systems)];
  return browser ? `${browser}${system ? ` on ${system}` : ""}` : "Unknown browser";
}
