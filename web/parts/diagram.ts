/**
 * Diagrams are drawn in a frame of their own, with a policy of its own, and come back as pictures:
 * a picture runs nothing and loads nothing, whatever the text of the diagram was.
 */
let frame: Promise<HTMLIFrameElement> | undefined;
let last = 0;

export async function drawDiagram(text: string, isDark: boolean): Promise<HTMLImageElement> {
  frame ??= openFrame();
  const { contentWindow } = await frame;
  const id = ++last;
  const svg = await new Promise<string>((done, fail) => {
    const timer = setTimeout(() => fail(new Error("the diagram took too long")), 15_000);
    const listen = (event: MessageEvent) => {
      if (event.source !== contentWindow || event.data?.id !== id) return;
      window.removeEventListener("message", listen);
      clearTimeout(timer);
      if (typeof event.data.svg === "string") done(event.data.svg);
      else fail(new Error(String(event.data.error)));
    };
    window.addEventListener("message", listen);
    contentWindow?.postMessage({ id, text, isDark }, location.origin);
  });
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  return image;
}

function openFrame(): Promise<HTMLIFrameElement> {
  const element = document.createElement("iframe");
  element.src = "/diagram";
  element.className = "diagram-frame";
  element.title = "Draws diagrams";
  element.tabIndex = -1;
  element.setAttribute("aria-hidden", "true");
  return new Promise((done) => {
    const listen = (event: MessageEvent) => {
      if (event.source !== element.contentWindow || event.data !== "ready") return;
      window.removeEventListener("message", listen);
      done(element);
    };
    window.addEventListener("message", listen);
    document.body.append(element);
  });
}
