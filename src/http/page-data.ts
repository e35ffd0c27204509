/** Writes data into the JSON element of a page. Nothing in it can end the element or begin another. */
export function withData(page: string, data: unknown): string {
  const text = JSON.stringify(data).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return page.replace(">{}</script>", () => `>${text}</script>`);
}
