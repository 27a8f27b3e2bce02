import { Cron } from 'croner';
import type { PeriodicConfig } from '../jobs/job.js';

/** A text that is no schedule. */
export class CronSpecError extends Error {
  override readonly name = 'CronSpecError';
  constructor(
    readonly spec: string,
    why: string,
  ) {
    super(`Invalid cron spec "${spec}": ${why}`);
  }
}

/** @throws CronSpecError */
export function checkCron(spec: string): void {
  cronOf(spec, undefined);
}

/**
 * The first time after `afterMs` at which one of the block's schedules is due, in its time zone; undefined: never again.
 * Milliseconds of unix time, always a whole second.
 * @throws CronSpecError
 */
export function nextLaunchMs(periodic: PeriodicConfig, afterMs: number): number | undefined {
  const timezone = periodic.TimeZone === 'Local' ? undefined : periodic.TimeZone || 'UTC';
  let first: number | undefined;
  for (const spec of specsOf(periodic)) {
    const next = cronOf(spec, timezone).nextRun(new Date(afterMs))?.getTime();
    if (next !== undefined && (first === undefined || next < first)) first = next;
  }
  return first;
}

export const specsOf = ({ Spec, Specs }: PeriodicConfig): readonly string[] => Specs ?? (Spec === '' ? [] : [Spec]);

/** Of six fields the last is the year, as in the schedules people have; the library's sixth would be seconds. */
function cronOf(spec: string, timezone: string | undefined): Cron {
  const fields = spec.trim().split(/\s+/);
  try {
    return new Cron(fields.length === 6 ? `0 ${spec.trim()}` : spec, { ...(timezone && { timezone }) });
  } catch (error) {
    throw new CronSpecError(spec, error instanceof Error ? error.message : String(error));
  }
}
