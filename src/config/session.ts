import * as z from "zod";

/** Claude Code and Codex cut what a hook adds after 10,000 characters, about 2,500 tokens. */
const maxTokens = 2400;

/** The settings of interactive agents: those of the plugin, and hooks of other clients. */
export const sessionBlock = z
  .strictObject({
    role: z
      .string()
      .max(64)
      .optional()
      .describe("Role of an agent that is started without --role; needed if the schema has several roles"),
    start_tokens: z
      .int()
      .min(0)
      .max(maxTokens)
      .default(1500)
      .describe("Maximum size of the catalogue that a session starts with; 0 turns it off"),
    recall_tokens: z
      .int()
      .min(0)
      .max(maxTokens)
      .default(600)
      .describe("Maximum size of the passages that are added to a prompt; 0 turns them off"),
    ask_to_record: z
      .boolean()
      .default(true)
      .describe("Ask once per session to record decisions, if it changed files and recorded nothing"),
  })
  .default({ start_tokens: 1500, recall_tokens: 600, ask_to_record: true });

export type SessionConfig = z.infer<typeof sessionBlock>;
