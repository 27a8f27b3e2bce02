// Schedules, time zones and durations. Parts: schedule, zone, duration.
import {
  checkCron,
  CronSpecError,
  formatDuration,
  launchTimeText,
  nextLaunchMs,
  parseDuration,
} from '../../../libs/model/dist/index.js';
import { BrokenPromise, declaring, same, texts, timed } from '../harness.mjs';

const NOW_MS = Date.UTC(2026, 2, 28, 23, 59, 59);

export const fuzz = timed((data) => {
  const [spec = '', zone = '', duration = ''] = texts(data, 3);
  const isSchedule = declaring([CronSpecError], () => (checkCron(spec), true));
  if (isSchedule && isZone(zone)) {
    const periodic = /** @type {any} */ ({
      Enabled: true,
      Spec: spec,
      Specs: null,
      TimeZone: zone,
      ProhibitOverlap: false,
    });
    const next = nextLaunchMs(periodic, NOW_MS);
    if (next !== undefined && (next <= NOW_MS || next % 1_000 !== 0))
      throw new BrokenPromise(`the next launch is ${next}`);
    if (next !== undefined) launchTimeText(periodic, next);
  }
  const ns = parseDuration(duration);
  if (ns !== undefined && Number.isSafeInteger(ns)) same(formatDuration(ns), parseDuration(formatDuration(ns)), ns + 0);
});

/** Others are refused when a job is registered. @param {string} zone */
function isZone(zone) {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone || 'UTC' });
    return true;
  } catch {
    return false;
  }
}

export const seeds = () => [
  '*/15 * * * *\n--\nEurope/Berlin\n--\n1h30m',
  '0 0 2 * 3 SUN#2 *\n--\nAmerica/New_York\n--\n-16.25ms',
  '@daily\n--\nUTC\n--\n.5h1us',
  '30 2 L * MON-FRI\n--\nPacific/Apia\n--\n0',
  '0 12 1W 1,6 ? 2027-2030\n--\nLocal\n--\n100ns',
];
