/** The value that an operation returns on success. */
export type OutputOf<O extends { perform(...args: never[]): Promise<unknown> }> =
  Extract<Awaited<ReturnType<O["perform"]>>, { ok: true }> extends { value: infer V } ? V : never;
