import { useEffect } from "react";
import { spellHidden } from "../../src/kernel/hidden.ts";
import { boot } from "../boot.ts";

/** The document's title while the component is shown. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    document.title = spellHidden(title ? `${title} · ${boot.workspace.name}` : boot.workspace.name);
  }, [title]);
}
