let countdown = 0;
let named: string | undefined;

/** For crash tests: the process kills itself at the n-th point it passes, or at each point of a name. */
export function crashAt(point: string | undefined): void {
  if (point === undefined) return;
  if (/^\d+$/.test(point)) countdown = Number(point);
  else named = point;
}

/** A place between two steps that must not be torn apart. Does nothing unless a test asked for it. */
export function crashPoint(name: string): void {
  if (countdown === 0 && named === undefined) return;
  if (name === named || (countdown > 0 && --countdown === 0)) process.kill(process.pid, "SIGKILL");
}
