import { Modal, type ModalProps } from "@mantine/core";
import { useEffect, useState } from "react";
import { spellHidden } from "../../src/kernel/hidden.ts";

/** A dialog for as long as it is rendered. Focus returns to the element that had it before. */
export function Dialog({ title, "aria-label": label, ...props }: Omit<ModalProps, "opened">) {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      if (before instanceof HTMLElement && before.isConnected && document.activeElement === document.body)
        before.focus({ preventScroll: true });
    },
    [before],
  );
  const shown = typeof title === "string" ? spellHidden(title) : title;
  return (
    <Modal
      opened
      title={shown}
      returnFocus={false}
      closeButtonProps={{ "aria-label": "Close" }}
      attributes={{
        // A header element outside main would be a second banner of the page.
        header: { role: "presentation" },
        // On the modal itself it would name the wrapper and not the dialog.
        ...(label === undefined ? {} : { content: { "aria-label": label } }),
      }}
      {...props}
    />
  );
}
