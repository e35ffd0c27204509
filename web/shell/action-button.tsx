import { Button, type ButtonProps, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import { mayCall } from "../client/call.ts";
import type { Action } from "./actions.ts";
import { Keys } from "./keys.tsx";

type Props = { action: Action; icon?: ReactNode; label?: string; busy?: boolean } & Omit<ButtonProps, "children">;

/** An action as a button; absent for whoever may not do it. */
export function ActionButton({ action, icon, label, busy = false, ...rest }: Props) {
  if (action.operation !== undefined && !mayCall(action.operation)) return null;
  const button = (
    <Button leftSection={icon} onClick={action.run} disabled={action.when === false} loading={busy} {...rest}>
      {label ?? action.label}
    </Button>
  );
  if (!action.keys) return button;
  return (
    <Tooltip label={<Keys keys={action.keys} />} events={{ hover: true, focus: true, touch: false }}>
      {button}
    </Tooltip>
  );
}
