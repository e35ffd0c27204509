let countdown = 0;
let named: string | undefined;
let fault: { code: string; after: number } | undefined;

/** Whether a step has failed since `crashAt`. */
export const hasFailed = () => fault !== undefined && fault.after <= 0;

/**
 * Crash tests only: the process kills itself at the n-th crash point, or at every point of a name. `ENOSPC@3` fails
 * the third step that writes to a disk, and every one after it, with that code.
 */
export function crashAt(point: string | undefined): void {
  countdown = 0;
  named = undefined;
  fault = undefined;
  if (point === undefined) return;
  const [code, after] = point.split("@");
  if (code && after) fault = { code, after: Number(after) };
  else if (/^\d+$/.test(point)) countdown = Number(point);
  else named = point;
}

/** Marks a place between two steps where a crash must do no harm. Does nothing outside crash tests. */
export function crashPoint(name: string): void {
  if (countdown === 0 && named === undefined) return;
  if (name === named || (countdown > 0 && --countdown === 0)) process.kill(process.pid, "SIGKILL");
}

/** Marks a step that a full or failing disk refuses. Does nothing outside crash tests. */
export function faultPoint(step: string): void {
  if (fault === undefined || --fault.after > 0) return;
  throw Object.assign(new Error(`${fault.code}: injected into ${step}`), { code: fault.code });
}
