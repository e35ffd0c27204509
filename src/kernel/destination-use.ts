import * as z from "zod";

/** One destination that an agent used or was refused, as its record shows it. */
export const destinationUse = z.object({
  destination: z.string().describe("Host and port"),
  allowed: z.boolean(),
  reason: z.string().nullable().describe("Why it was refused, or why the connection failed"),
  requests: z.int(),
  bytes_sent: z.number(),
  bytes_received: z.number(),
});

export type DestinationUse = z.infer<typeof destinationUse>;
