import { notifications } from "@mantine/notifications";
import { spellHidden } from "../../src/kernel/hidden.ts";
import { SetUpAgent } from "./set-up-agent.tsx";

/** A word that something is done, and perhaps the way back. */
export function say(text: string, undo?: () => void): void {
  const message = spellHidden(text);
  const id = notifications.show({
    message: undo ? (
      <span className="toast-undo">
        {message}
        <button
          type="button"
          className="link-button"
          onClick={() => {
            notifications.hide(id);
            undo();
          }}
        >
          Undo
        </button>
      </span>
    ) : (
      message
    ),
    withBorder: true,
    autoClose: undo ? 8000 : 4000,
    closeButtonProps: { "aria-label": "Dismiss" },
  });
}

export function complain(error: unknown): void {
  const message = spellHidden(error instanceof Error ? error.message : String(error));
  notifications.show({
    title: "Failed",
    message: (
      <>
        <div>{message}</div>
        <SetUpAgent after={error} />
      </>
    ),
    color: "red",
    withBorder: true,
    autoClose: 10_000,
    closeButtonProps: { "aria-label": "Dismiss" },
  });
}
