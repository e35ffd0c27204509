import { startCreating, useCreating } from "./creating.ts";
import { MovePage } from "./move-page.tsx";
import { NewPage } from "./new-page.tsx";
import { NewSection } from "./new-section.tsx";
import { RenameSection } from "./rename-section.tsx";

/** The dialog that `startCreating` opened. */
export function CreatingDialogs() {
  const creating = useCreating();
  const close = () => startCreating(undefined);
  if (creating?.kind === "page") return <NewPage path={creating.path} onClose={close} />;
  if (creating?.kind === "section") return <NewSection id={creating.id} onClose={close} />;
  if (creating?.kind !== "move") return null;
  const { path, entry, title } = creating;
  return entry === undefined ? (
    <MovePage path={path} onClose={close} />
  ) : (
    <RenameSection id={entry} title={title} onClose={close} />
  );
}
