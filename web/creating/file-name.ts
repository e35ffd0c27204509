/** "How we deploy!" becomes "how-we-deploy.md"; letters of every script stay. */
export function fileNameFor(title: string): string {
  const words = title
    .normalize("NFC")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 80);
  return words === "" ? "" : `${words}.md`;
}
