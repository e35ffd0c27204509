let countdown = 0;
let named: string | undefined;

/** Crash tests only: the process kills itself at the n-th crash point, or at every point of a name. */
export function crashAt(point: string | undefined): void {
  if (point === undefined) return;
  if (/^\d+$/.test(point)) countdown = Number(point);
  else named = point;
}

/** Marks a place between two steps where a crash must do no harm. Does nothing outside crash tests. */
export function crashPoint(name: string): void {
  if (countdown === 0 && named === undefined) return;
  if (name === named || (countdown > 0 && --countdown === 0)) process.kill(process.pid, "SIGKILL");
}
