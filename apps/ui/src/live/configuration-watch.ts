import type { StreamMeans } from './event-stream.js';

const RETRY_MS = 5_000;

/**
 * Waits for changes of the scheduler configuration, which the event stream does not report: every page shows whether
 * the broker is paused. It uses one blocking query for all tabs, which is answered when the configuration changes or
 * after five minutes.
 */
export async function watchConfiguration(
  token: string,
  means: StreamMeans,
  onChange: () => void,
  signal: AbortSignal,
): Promise<void> {
  const headers: Record<string, string> = token === '' ? {} : { 'X-Nomad-Token': token };
  let seen = 0;
  while (!signal.aborted) {
    const path = `/v1/operator/scheduler/configuration?index=${seen}&wait=5m`;
    const answer = await means.fetch(path, { signal, headers }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.status === 403) return;
    const index = Number(answer?.headers.get('X-Nomad-Index') ?? 0);
    if (answer?.ok !== true || index === 0) {
      await means.wait(RETRY_MS, signal);
      continue;
    }
    if (seen !== 0 && index !== seen) onChange();
    seen = index;
  }
}
