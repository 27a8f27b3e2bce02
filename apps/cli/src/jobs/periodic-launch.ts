import type { PeriodicConfig } from '@waybill/model';
import { formatDuration } from '@waybill/model/duration';

/** Formats `<time> (<duration> from now)`, both cut to seconds (CL-143). `time` is RFC 3339 and shown unchanged. */
export function launchText(time: string, nowMs: number): string {
  const seconds = Math.floor(Date.parse(time) / 1000) - Math.floor(nowMs / 1000);
  return `${time.replace(/\.\d+/, '')} (${formatDuration(seconds * 1e9)} from now)`;
}

/**
 * Returns the next launch of a periodic job in its own time zone, or undefined if there is none (CL-304, CL-312).
 * @throws CronSpecError
 */
export async function nextLaunch(periodic: PeriodicConfig, nowMs: number): Promise<string | undefined> {
  const { launchTimeText, nextLaunchMs } = await import('@waybill/model/cron');
  const launchMs = nextLaunchMs(periodic, nowMs);
  return launchMs === undefined ? undefined : launchText(launchTimeText(periodic, launchMs), nowMs);
}
