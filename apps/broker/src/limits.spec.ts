import { expect, it } from 'vitest';
import { MAX_BATCHED_UPDATES } from './batched-eval-updates.js';
import { UNBLOCK_LOG_AGE_MS, DEFER_ABOVE } from './blocked/blocked-evals.js';
import { ZERO_SUM_AGE_MS } from './blocked/blocked-resources.js';
import { DEFAULT_DEQUEUE_MS, REACH_TIMEOUT_MS } from './broker.js';
import { MAX_BLOCKED_JOBS_SHOWN, MAX_JOBS_SHOWN, MAX_WAITING_SHOWN } from './contract-metrics.js';
import { MAX_REMEMBERED_TRACES } from './evaluation-traces.js';
import { FIRST_KEY_RETRY_MS } from './housekeeping/first-root-key.js';
import { LAUNCH_RETRY_MS } from './housekeeping/periodic-dispatcher.js';
import { READABLE_LIMIT_MS } from './housekeeping/read-model-index.js';
import {
  CANCEL_BATCH,
  CANCEL_SWEEP_MS,
  FOLLOW_UP_WAIT_NS,
  FOLLOW_UP_JITTER_NS,
  UNBLOCK_FAILED_MS,
  PRUNE_MS,
  REAPER_RETRY_MS,
} from './housekeeping/reapers.js';
import { REWRAP_CHECK_MS, REWRAP_RETRY_MS } from './housekeeping/root-key-rewrapping.js';
import { ROTATION_CHECK_MS } from './housekeeping/root-key-rotation.js';
import { GRACE_FACTOR, RELEASE_RETRY_MS, LONGEST_RELEASE_RETRY_MS } from './housekeeping/variable-locks.js';
import {
  REKEY_BATCH,
  REKEY_PAUSE_MS,
  REKEY_CHECK_MS,
  REKEY_RETRY_MS,
  MAX_UNREADABLE,
} from './housekeeping/variable-rekeying.js';
import { CHECK_INTERVAL_MS, FAILED_CHECKS_LIMIT } from './lost-workers.js';
import { APPLIER_WAIT_MS, PIPELINE_DEPTH, SETTLE_RETRY_MS } from './plans/plan-applier.js';
import {
  NODE_THRESHOLD,
  NODE_WINDOW_MS,
  REPORT_BURST,
  REPORTS_PER_PERIOD,
  REPORT_PERIOD_MS,
  MAX_TRACKED_NODES,
} from './plans/rejection-tracker.js';
import { MAX_TIMED, MAX_FAILED_DELIVERIES } from './queue/tracked-evaluations.js';
import {
  NACK_TIMEOUT_MS,
  INITIAL_NACK_DELAY_MS,
  SUBSEQUENT_NACK_DELAY_MS,
  DELIVERY_LIMIT,
} from './queue/unacked-deliveries.js';

it.each<[string, number, number]>([
  ['EB-64: a dequeue without a timeout waits 1 s', DEFAULT_DEQUEUE_MS, 1_000],
  ['EB-80: a silent worker loses its delivery after a minute', NACK_TIMEOUT_MS, 60_000],
  ['EB-81: the first redelivery comes after 1 s', INITIAL_NACK_DELAY_MS, 1_000],
  ['EB-81: the delay of each further redelivery grows by 20 s', SUBSEQUENT_NACK_DELAY_MS, 20_000],
  ['EB-85: three deliveries', DELIVERY_LIMIT, 3],
  ['EB-95: 728 evaluations are canceled in one transaction', CANCEL_BATCH, 728],
  ['EB-96: superseded evaluations are looked for every 5 s', CANCEL_SWEEP_MS, 5_000],
  ['EB-103: a follow-up waits 1 min', FOLLOW_UP_WAIT_NS, 60e9],
  ['EB-103: and a random part of 5 min', FOLLOW_UP_JITTER_NS, 300e9],
  ['EB-186: evaluations that ran out of attempts are unblocked every 60 s', UNBLOCK_FAILED_MS, 60_000],
  ['EB-191: the unblock log is pruned every 5 min', PRUNE_MS, 300_000],
  ['EB-191: of entries older than 15 min', UNBLOCK_LOG_AGE_MS, 900_000],
  ['EB-192: a sum of zero disappears after 15 min', ZERO_SUM_AGE_MS, 900_000],
  ['EB-243: a plan waits 10 s for its snapshot', APPLIER_WAIT_MS, 10_000],
  ['EB-262: one plan is in flight while the next is verified', PIPELINE_DEPTH, 1],
  ['EB-284: a node is bad after 100 rejections', NODE_THRESHOLD, 100],
  ['EB-284: within 5 min', NODE_WINDOW_MS, 300_000],
  ['EB-286: ten bad nodes are reported in a burst', REPORT_BURST, 10],
  ['EB-286: then five', REPORTS_PER_PERIOD, 5],
  ['EB-286: in 30 min', REPORT_PERIOD_MS, 1_800_000],
  ['EB-287: 50 nodes are tracked', MAX_TRACKED_NODES, 50],
  ['EB-321: the times of 10,000 evaluations are remembered', MAX_TIMED, 10_000],
  ['GC-86: 10 variables are encrypted anew', REKEY_BATCH, 10],
  ['GC-86: each tenth of a second', REKEY_PAUSE_MS, 100],
  ['OP-202: a lock is lost after two TTLs', GRACE_FACTOR, 2],
  // Waybill's own limits:
  ['evaluations of one transaction', MAX_BATCHED_UPDATES, 128],
  ['tracked evaluations up to which an unblock takes effect at once', DEFER_ABOVE, 64],
  ['time in which a call waits for an index', REACH_TIMEOUT_MS, 4_000],
  ['delayed evaluations with a gauge of their own', MAX_WAITING_SHOWN, 1_000],
  ['jobs whose timers have their own name', MAX_JOBS_SHOWN, 100],
  ['jobs with gauges of what they wait for', MAX_BLOCKED_JOBS_SHOWN, 1_000],
  ['time between two checks for root keys of another wrapper', REWRAP_CHECK_MS, 5_000],
  ['pause after a root key could not be wrapped anew', REWRAP_RETRY_MS, 300_000],
  ['remembered traces', MAX_REMEMBERED_TRACES, 10_000],
  ['remembered failed deliveries', MAX_FAILED_DELIVERIES, 8],
  ['time between two checks of a worker', CHECK_INTERVAL_MS, 1_000],
  ['failed checks of a lost worker', FAILED_CHECKS_LIMIT, 3],
  ['pause before a launch is tried again', LAUNCH_RETRY_MS, 5_000],
  ['pause of a reaper after a failure', REAPER_RETRY_MS, 1_000],
  ['time between two checks of the root keys', ROTATION_CHECK_MS, 600_000],
  ['pause before the first root key is tried again', FIRST_KEY_RETRY_MS, 10_000],
  ['time between two checks for variables of an old key', REKEY_CHECK_MS, 5_000],
  ['pause after a pass that left variables', REKEY_RETRY_MS, 600_000],
  ['variables that a pass may fail to read', MAX_UNREADABLE, 100],
  ['first pause of a lock that was not released', RELEASE_RETRY_MS, 1_000],
  ['longest pause of a lock that was not released', LONGEST_RELEASE_RETRY_MS, 60_000],
  ['time in which a deletion becomes readable', READABLE_LIMIT_MS, 30_000],
  ['pause before a write of unknown outcome is settled', SETTLE_RETRY_MS, 500],
])('%s', (_, value, wanted) => {
  expect(value).toBe(wanted);
});
