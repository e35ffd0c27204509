import type { TrustState } from "../../src/trust/state.ts";

/** What a person can do about a passage that is not verified; `wasVerified`: its text was, before it changed. */
export function whatToDo(state: TrustState, wasVerified: boolean): string | undefined {
  switch (state) {
    case "stale":
      return "Compare it with what it cites. Verify it if it still holds, or correct it.";
    case "disputed":
      return "Find out which text is right. Verify it if it holds, or correct it.";
    case "withdrawn":
      return "The work that wrote it was reverted or overturned. Verify it if it still holds, or correct it.";
    case "unverified":
      return wasVerified ? "The verified text was changed. Verify the new text, or correct it." : undefined;
    default:
      return undefined;
  }
}
