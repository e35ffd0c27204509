const patienceMs = 2000;

export type Answer = { status: number; body: string };

/** What an address answers, whatever the status, without sending a key; undefined when nothing does in time. */
export async function answers(url: string): Promise<Answer | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(patienceMs), redirect: "manual" });
    return { status: response.status, body: (await response.text()).slice(0, 1000) };
  } catch {
    return undefined;
  }
}
