import { ok, type Result, refuse } from "../../kernel/result.ts";
import { checkedPath, type FileKind, readInside } from "./pages.ts";

type Image = { type: string; bytes: Buffer };

const startsWith = (bytes: Buffer, text: string, at = 0) => bytes.toString("latin1", at, at + text.length) === text;

/** Each type by its extension and by the first bytes of its files: a name alone proves nothing. */
const types: Record<string, { type: string; isType(bytes: Buffer): boolean }> = {
  png: { type: "image/png", isType: (bytes) => startsWith(bytes, "\x89PNG\r\n\x1a\n") },
  jpg: { type: "image/jpeg", isType: (bytes) => startsWith(bytes, "\xff\xd8\xff") },
  gif: { type: "image/gif", isType: (bytes) => startsWith(bytes, "GIF87a") || startsWith(bytes, "GIF89a") },
  webp: { type: "image/webp", isType: (bytes) => startsWith(bytes, "RIFF") && startsWith(bytes, "WEBP", 8) },
  avif: { type: "image/avif", isType: (bytes) => startsWith(bytes, "ftyp", 4) },
  // A browser runs no script of an SVG in an <img>, and loads nothing for it.
  svg: { type: "image/svg+xml", isType: (bytes) => /<svg[\s>]/.test(bytes.toString("utf8", 0, 4096)) },
};

const imageKind: FileKind = {
  name: "image",
  pattern: /[^/]\.(png|jpe?g|gif|webp|avif|svg)$/i,
  wanted: "only .png, .jpg, .gif, .webp, .avif and .svg files are shown as images",
  example: "docs/overview.png",
};

/** An image of the workspace, read with the same checks as a page. */
export function readImage(root: string, raw: string): Result<Image> {
  const path = checkedPath(raw, imageKind);
  if (!path.ok) return path;
  const extension = path.value.split(".").at(-1)?.toLowerCase() ?? "";
  const known = types[extension === "jpeg" ? "jpg" : extension];
  const bytes = readInside(root, path.value, "image");
  if (!bytes.ok) return bytes;
  if (!known?.isType(bytes.value)) return refuse("invalid", `${path.value} is not the image that its name says`);
  return ok({ type: known.type, bytes: bytes.value });
}
