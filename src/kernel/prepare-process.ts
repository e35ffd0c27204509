/** Call before loading the commands, which an old Node cannot load. */
export function prepareProcess(): void {
  refuseOldNode(process.versions.node);
  // Ignore EPIPE, e.g. when output is piped into `head`, and EIO of a terminal that was closed.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && !(error.code === "EIO" && process.stdout.isTTY)) throw error;
  });
}

/** `engines` in package.json names the same release. */
const oldestNode = [20, 19] as const;

function refuseOldNode(version: string): void {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])) return;
  process.stderr.write(
    `scriptorium: Node ${version} is too old. Install Node ${oldestNode.join(".")} or newer; this one is ${process.execPath}\n`,
  );
  process.exit(1);
}
