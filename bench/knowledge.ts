/** The knowledge base against its targets, and against what people use today. See bench/README.md. */
const [first, ...rest] = process.argv.slice(2);
if (first === "child") await (await import("./knowledge/child.ts")).work(rest);
else await (await import("./knowledge/questions.ts")).ask(process.argv.slice(2));
