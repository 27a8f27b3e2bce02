import type { PeriodicConfig } from '@waybill/model';
import { formatDuration } from '@waybill/model/duration';
import { rfc3339 } from '../terminal/times.js';

/** `<time> (<duration> from now)`, both cut to seconds (CL-143). */
export function launchText(launchMs: number, nowMs: number): string {
  const seconds = Math.floor(launchMs / 1000) - Math.floor(nowMs / 1000);
  return `${rfc3339(launchMs)} (${formatDuration(seconds * 1e9)} from now)`;
}

/**
 * When a periodic job is launched next, in its own time zone (CL-304, CL-312); undefined: never again.
 * @throws CronSpecError
 */
export async function nextLaunch(periodic: PeriodicConfig, nowMs: number): Promise<string | undefined> {
  const { nextLaunchMs } = await import('@waybill/model/cron');
  const launchMs = nextLaunchMs(periodic, nowMs);
  return launchMs === undefined ? undefined : launchText(launchMs, nowMs);
}
