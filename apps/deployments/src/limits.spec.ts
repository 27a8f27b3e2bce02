import { expect, it } from 'vitest';
import { FIRST_DROP_RETRY_MS, MAX_DROP_RETRY_MS, LATE_REGISTRATION_MS } from './regions/dropped-regions.js';
import { POLL_MS, MAX_POLL_MS } from './regions/region-rollout.js';
import { FIRST_RETRY_MS, MAX_RETRY_MS } from './watching/deployment-watcher.js';
import { DEFAULT_READS_PER_SECOND } from './watching/read-limiter.js';
import {
  DEPLOYMENT_WINDOW_MS,
  WRITE_WINDOW_MS,
  MAX_BATCH_BYTES,
  FIRST_RETRY_MS as FIRST_BATCH_RETRY_MS,
  MAX_RETRY_MS as MAX_BATCH_RETRY_MS,
} from './watching/update-batcher.js';

it.each<[string, number, number]>([
  ['DP-612: 100 reads each second', DEFAULT_READS_PER_SECOND, 100],
  ['DP-613: a failed write of a status is repeated after 500 ms', FIRST_RETRY_MS, 500],
  ['DP-613: and after 30 s at the latest', MAX_RETRY_MS, 30_000],
  ['DP-707: changes of a deployment are gathered for 1 s', DEPLOYMENT_WINDOW_MS, 1_000],
  ['DP-708: those of all deployments for 250 ms', WRITE_WINDOW_MS, 250],
  ['DP-709: 256 KiB in one message', MAX_BATCH_BYTES, 262_144],
  ['DP-1119: peers are polled every 10 s', POLL_MS, 10_000],
  ['DP-1119: and every minute after errors', MAX_POLL_MS, 60_000],
  // Waybill's own limits:
  ['first pause of updates that were not written', FIRST_BATCH_RETRY_MS, 500],
  ['longest pause of updates that were not written', MAX_BATCH_RETRY_MS, 30_000],
  ['first pause before a region is told again', FIRST_DROP_RETRY_MS, 5_000],
  ['longest pause before a region is told again', MAX_DROP_RETRY_MS, 300_000],
  ['time in which a late registration may arrive', LATE_REGISTRATION_MS, 60_000],
])('%s', (_, value, wanted) => {
  expect(value).toBe(wanted);
});
