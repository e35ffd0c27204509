import tinyMermaid from "@mermaid-js/tiny/dist/mermaid.tiny.js?url";

/** Mermaid without mindmaps, architecture diagrams and KaTeX labels: 3 MB installed where the whole takes 150. */
type Mermaid = {
  initialize(config: object): void;
  render(id: string, text: string): Promise<{ svg: string }>;
};

// The build is a classic script that sets a global; as a module it would not find its own variable.
const library = new Promise<Mermaid>((resolve, reject) => {
  const script = document.createElement("script");
  script.src = tinyMermaid;
  script.onload = () => resolve((globalThis as unknown as { mermaid: Mermaid }).mermaid);
  script.onerror = () => reject(new Error(`${tinyMermaid} could not be loaded`));
  document.head.append(script);
});

type Wish = { id: number; text: string; isDark: boolean };

// One drawing at a time: the library's settings and scratch element are global.
let turn = Promise.resolve();

window.addEventListener("message", (event: MessageEvent<Wish>) => {
  if (event.origin !== location.origin || event.source !== parent) return;
  turn = turn.then(() => draw(event.data));
});
parent.postMessage("ready", location.origin);

async function draw({ id, text, isDark }: Wish): Promise<void> {
  try {
    const mermaid = await library;
    mermaid.initialize({
      startOnLoad: false,
      securityLevel: "strict",
      theme: isDark ? "dark" : "neutral",
      fontFamily: "Liberation Sans, Arial, Helvetica, sans-serif",
      flowchart: { htmlLabels: false },
      htmlLabels: false,
    });
    const { svg } = await mermaid.render(`diagram-${id}`, text);
    parent.postMessage({ id, svg: sized(svg) }, location.origin);
  } catch (error) {
    parent.postMessage({ id, error: String(error) }, location.origin);
  }
}

/** An image needs its size in pixels; the library writes 100%. */
function sized(svg: string): string {
  const box = /viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"/.exec(svg);
  if (!box) return svg;
  return svg.replace(/width="100%"/, `width="${box[1]}" height="${box[2]}"`);
}
