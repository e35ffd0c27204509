import { Button, type ButtonProps } from "@mantine/core";
import type { ReactNode } from "react";
import { mayCall } from "../client/call.ts";
import type { Action } from "./actions.ts";
import { spellKeys } from "./keys.tsx";

type Props = {
  action: Action;
  icon?: ReactNode;
  label?: string;
  busy?: boolean;
  "aria-current"?: "page" | undefined;
} & Omit<ButtonProps, "children">;

/** An action as a button; absent for whoever may not do it. */
export function ActionButton({ action, icon, label, busy = false, ...rest }: Props) {
  if (action.operation !== undefined && !mayCall(action.operation)) return null;
  const keys = action.keys === undefined ? {} : { title: `${action.label} (${spellKeys(action.keys)})` };
  return (
    <Button leftSection={icon} onClick={action.run} disabled={action.when === false} loading={busy} {...keys} {...rest}>
      {label ?? action.label}
    </Button>
  );
}
