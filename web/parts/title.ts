import { useEffect } from "react";
import { spellHidden } from "../../src/kernel/hidden.ts";
import { boot } from "../boot.ts";

let title: string | undefined;
let waiting = 0;

function write(): void {
  const name = title ? `${title} · ${boot.workspace.name}` : boot.workspace.name;
  document.title = spellHidden(waiting > 0 ? `(${waiting}) ${name}` : name);
}

/** The document's title while the component is shown. */
export function useTitle(next: string | undefined): void {
  useEffect(() => {
    title = next;
    write();
  }, [next]);
}

/** The number of things that wait for the person, before every title. */
export function useTitleCount(count: number): void {
  useEffect(() => {
    waiting = count;
    write();
  }, [count]);
}
