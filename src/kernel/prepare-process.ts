import module from "node:module";

/** Call before importing the program: modules loaded earlier are not in the compile cache. */
export function prepareProcess(): void {
  // Ignore EPIPE, e.g. when output is piped into `head`, and EIO of a terminal that was closed.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && !(error.code === "EIO" && process.stdout.isTTY)) throw error;
  });
  // Node 22 and newer keep compiled code between runs.
  (module as { enableCompileCache?: () => void }).enableCompileCache?.();
}
