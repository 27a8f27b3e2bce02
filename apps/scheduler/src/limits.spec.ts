import { expect, it } from 'vitest';
import { REST_PER_WORK, MAX_REST_MS } from './collection/considerate.js';
import { ROWS_PER_TURN } from './collection/scan.js';
import { MAX_DRY_RUN_PLACEMENTS } from './dry-run.js';
import { MAX_PLACEMENTS_PER_PLAN } from './plan-draft.js';
import { PRIORITY_DELTA, PARALLEL_PENALTY } from './preemption/preemption.js';
import { PAGE_MS } from './queued-placements.js';
import { MIN_CANDIDATE_LIMIT, DEFAULT_SPREAD_LIMIT, MAX_SET_ASIDE } from './ranking/candidate-limit.js';
import { KEPT_SCORES } from './ranking/placement-metric.js';
import { MAX_FIT_SCORE } from './ranking/fit-score.js';
import { MIN_KILL_WAIT_NS } from './reconciliation/delayed-stop.js';
import { FOLLOW_UP_WINDOW_NS } from './reconciliation/follow-ups.js';
import { KEPT_EVENTS } from './reconciliation/reschedule-policy.js';
import { MAX_ATTEMPTS } from './schedule.js';
import { SUBMIT_BACKOFF_MS } from './worker/broker-planner.js';
import { SHORT_HOUSEKEEPING_MS } from './worker/housekeeping.js';
import {
  WAIT_FOR_INDEX_MS,
  CATCH_UP_MS,
  DEQUEUE_BACKOFF_MS,
  OTHER_VERSION_BACKOFF_MS,
  QUIET_START_MS,
  STOP_GRACE_MS,
  DEQUEUE_MS,
  NO_BROKER_BACKOFF_LIMIT_MS,
} from './worker/worker.js';

it.each<[string, number, number]>([
  ['EB-199: a worker waits 5 s for an index', WAIT_FOR_INDEX_MS, 5_000],
  ['EB-199: and then a further 50 s', CATCH_UP_MS, 50_000],
  ['EB-203: failed dequeues pause for 20 ms first', DEQUEUE_BACKOFF_MS.base, 20],
  ['EB-203: and for 10 s at most', DEQUEUE_BACKOFF_MS.limit, 10_000],
  ['EB-203: another version is asked for every 30 s', OTHER_VERSION_BACKOFF_MS, 30_000],
  ['EB-203: errors of the first 10 s are not logged', QUIET_START_MS, 10_000],
  ['EB-206: without a leader a submission pauses for 500 ms first', SUBMIT_BACKOFF_MS.base, 500],
  ['EB-206: and for 10 s at most', SUBMIT_BACKOFF_MS.limit, 10_000],
  ['EB-208: a stopping worker has 5 s', STOP_GRACE_MS, 5_000],
  ['EB-64: a worker waits 500 ms for an evaluation', DEQUEUE_MS, 500],
  ['SC-107: the highest fit score', MAX_FIT_SCORE, 18],
  ['SC-113: five scores are kept', KEPT_SCORES, 5],
  ['SC-115: two nodes are compared at least', MIN_CANDIDATE_LIMIT, 2],
  ['SC-116: a hundred nodes with affinities or spreads', DEFAULT_SPREAD_LIMIT, 100],
  ['SC-117: three nodes are set aside', MAX_SET_ASIDE, 3],
  ['SC-133: a victim is ten below', PRIORITY_DELTA, 10],
  ['SC-136: each victim of a group too many counts 50', PARALLEL_PENALTY, 50],
  ['SC-174: replacements of 5 s share a follow-up', FOLLOW_UP_WINDOW_NS, 5e9],
  ['SC-201: five seconds to kill a task', MIN_KILL_WAIT_NS, 5e9],
  ['SC-264: five events of an unlimited policy', KEPT_EVENTS, 5],
  ['SC-21, EB-211: attempts of a service job', MAX_ATTEMPTS.service, 5],
  ['SC-21, EB-211: attempts of a batch job', MAX_ATTEMPTS.batch, 2],
  ['SC-21, EB-211: attempts of a system job', MAX_ATTEMPTS.system, 5],
  ['SC-21, EB-211: attempts of a sysbatch job', MAX_ATTEMPTS.sysbatch, 2],
  // Waybill's own limits:
  ['rest for a millisecond of deletions', REST_PER_WORK, 3],
  ['longest rest of a collection', MAX_REST_MS, 15_000],
  ['rows of one turn of a scan', ROWS_PER_TURN, 5_000],
  ['placements of one plan', MAX_PLACEMENTS_PER_PLAN, 1_000],
  ['placements of a dry run', MAX_DRY_RUN_PLACEMENTS, 10_000],
  ['time of one page of queued placements', PAGE_MS, 200],
  ['longest pause without a broker', NO_BROKER_BACKOFF_LIMIT_MS, 500],
  ['time that a worker gives to housekeeping', SHORT_HOUSEKEEPING_MS, 100],
])('%s', (_, value, wanted) => {
  expect(value).toBe(wanted);
});
