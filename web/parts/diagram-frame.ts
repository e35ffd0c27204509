import mermaid from "mermaid";

type Wish = { id: number; text: string; isDark: boolean };

// One after the other: the library keeps its settings and its drawing in one place.
let turn = Promise.resolve();

window.addEventListener("message", (event: MessageEvent<Wish>) => {
  if (event.origin !== location.origin || event.source !== parent) return;
  turn = turn.then(() => draw(event.data));
});
parent.postMessage("ready", location.origin);

async function draw({ id, text, isDark }: Wish): Promise<void> {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    theme: isDark ? "dark" : "neutral",
    fontFamily: "Liberation Sans, Arial, Helvetica, sans-serif",
    flowchart: { htmlLabels: false },
    htmlLabels: false,
  });
  try {
    const { svg } = await mermaid.render(`diagram-${id}`, text);
    parent.postMessage({ id, svg: sized(svg) }, location.origin);
  } catch (error) {
    parent.postMessage({ id, error: String(error) }, location.origin);
  }
}

/** A picture needs its size in pixels; what the library writes is a share of the page. */
function sized(svg: string): string {
  const box = /viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"/.exec(svg);
  if (!box) return svg;
  return svg.replace(/width="100%"/, `width="${box[1]}" height="${box[2]}"`);
}
