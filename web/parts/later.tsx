import { type ComponentType, type FunctionComponent, useEffect, useState } from "react";
import { Failed, Loading } from "./state.tsx";

type Later<P> = FunctionComponent<P> & { preload(): Promise<void> };

/**
 * A part of the application that is loaded when it is needed. When the server is away the page stays
 * as it is, with what was typed into it; the router's own way would load the whole page again.
 */
export function later<P extends object>(load: () => Promise<ComponentType<P>>): Later<P> {
  let loaded: ComponentType<P> | undefined;
  const fetched = async () => {
    loaded ??= await load();
  };
  const Part = (props: P) => {
    const [isMissing, setMissing] = useState(false);
    const [, setArrived] = useState(loaded !== undefined);
    useEffect(() => {
      if (!loaded)
        fetched().then(
          () => setArrived(true),
          () => setMissing(true),
        );
    }, []);
    if (loaded) {
      const Loaded = loaded;
      return <Loaded {...props} />;
    }
    return (
      <div className="coming">
        {isMissing ? <Failed error={missing} again={() => void reloadIfServed()} /> : <Loading />}
      </div>
    );
  };
  return Object.assign(Part, { preload: () => fetched().catch(() => undefined) });
}

const missing = new Error("this part of the application could not be loaded; the server is not reachable");

/** A browser remembers that a file could not be loaded, so that only a fresh page asks for it again. */
async function reloadIfServed(): Promise<void> {
  const answer = await fetch("/healthz").catch(() => undefined);
  if (answer?.ok) location.reload();
}
