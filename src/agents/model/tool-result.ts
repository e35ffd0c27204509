import type { ModelMessage } from "ai";
import * as z from "zod";

/** Longer tool results are cut, because every later call sends them again. */
const maxResultCharacters = 60_000;

/** A tool's answer that is a picture, such as that of read_file on a PNG file. */
const picture = z.looseObject({ image: z.object({ media_type: z.string(), data: z.string() }) });

/** The result of a call as text; a picture follows in a message of its own. */
export function resultText(value: unknown): string {
  const found = picture.safeParse(value);
  const shown = found.success ? { ...found.data, image: "in the next message" } : value;
  const text = JSON.stringify(shown) ?? "null";
  return text.length <= maxResultCharacters
    ? text
    : `${text.slice(0, maxResultCharacters)} … (cut, ${text.length} characters)`;
}

/** In a message of the user, because OpenAI's servers take no pictures in the result of a call. */
export function pictureIn(value: unknown): ModelMessage | undefined {
  const found = picture.safeParse(value);
  if (!found.success) return undefined;
  const { media_type: mediaType, data } = found.data.image;
  return { role: "user", content: [{ type: "image", image: data, mediaType }] };
}
