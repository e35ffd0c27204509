import { randomBytes } from "node:crypto";

const letters = "0123456789abcdefghjkmnpqrstvwxyz";

/** Short, sortable by creation time, and unique even when two clones create ids at once. */
export function newId(prefix: string): string {
  let time = Date.now();
  let stamp = "";
  for (let i = 0; i < 9; i++) {
    stamp = letters[time % 32] + stamp;
    time = Math.floor(time / 32);
  }
  const chance = [...randomBytes(8)].map((byte) => letters[byte % 32]).join("");
  return `${prefix}-${stamp}${chance}`;
}
