import { connect } from "node:net";

/** Connects stdin and stdout to the socket of a run's tools: `node tool-relay.js <socket>`. */
const socket = connect(process.argv[2] ?? "");
socket.on("error", (error) => {
  process.stderr.write(`scriptorium: lost the connection to the tools of this run: ${error.message}\n`);
  process.exit(1);
});
socket.on("close", () => process.exit(0));
process.stdin.pipe(socket).pipe(process.stdout);
