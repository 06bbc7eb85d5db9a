/**
 * Asks a listener of our own on this machine. Everything that leaves for an address that somebody else chose goes
 * through the guarded fetch instead.
 */
export async function askLocal(
  url: string,
  timeoutMs = 3_000,
): Promise<{ status: number; body: unknown } | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs), redirect: 'error' });
    return { status: response.status, body: await response.json().catch(() => undefined) };
  } catch {
    return undefined;
  }
}
