import { expect, it } from 'vitest';
import { BATCH_WINDOW_MS, MAX_BATCH_ALLOCS, MAX_PENDING_ALLOCS } from './allocations/alloc-updates.js';
import { CATCH_UP_TIMEOUT_MS } from './allocations/catch-up.js';
import { MAX_REMEMBERED_TRACES } from './allocations/placement-traces.js';
import { MAX_SERVICES_PER_CALL } from './allocations/service-registrations.js';
import { MAX_IDS_PER_TXN } from './drain/drain-batches.js';
import { DEADLINE_WINDOW_MS } from './drain/drain-deadlines.js';
import { GATHER_MS, RETRY_MS } from './drain/drainer.js';
import {
  HEARTBEAT_GRACE_MS,
  FAILOVER_HEARTBEAT_TTL_MS,
  MIN_HEARTBEAT_TTL_MS,
  MAX_HEARTBEATS_PER_SECOND,
} from './heartbeats/heartbeat-ttl.js';
import { LOSS_RETRY_MS } from './heartbeats/heartbeats.js';
import { EVALUATIONS_DUE_MS, LOOK_BACK_SECONDS } from './heartbeats/missing-node-evaluations.js';
import { SIGN_EVERY_MS, SILENCE_MS } from './heartbeats/peers.js';
import { MAX_SIGNED_TOKEN_BYTES } from './identities/identity-signing.js';
import { MAX_SIGNING_MS, SPARE_LIFE_MS } from './identities/node-identities.js';
import { MAX_EVENTS_PER_REPORT } from './node/node-events.js';
import { MAX_REGISTERING, MAX_WAITING_REGISTRATIONS } from './node/registration.js';

it.each<[string, number, number]>([
  ['AU-144: a signature is waited for at most 1 s', MAX_SIGNING_MS, 1_000],
  ['AU-196: an identity must live 10 min longer if none can be signed', SPARE_LIFE_MS, 600_000],
  ['DR-62: deadlines within 5 s are handled together', DEADLINE_WINDOW_MS, 5_000],
  ['DR-71: marks are gathered for 1 s', GATHER_MS, 1_000],
  ['DR-72: 7281 IDs in one transaction', MAX_IDS_PER_TXN, 7_281],
  ['DR-75: a failed write is tried again after 1 s', RETRY_MS, 1_000],
  ['ND-73: evaluations are missed after 5 s', EVALUATIONS_DUE_MS, 5_000],
  ['ND-76: ten seconds of grace', HEARTBEAT_GRACE_MS, 10_000],
  ['ND-78: a new holder waits 5 min for a node', FAILOVER_HEARTBEAT_TTL_MS, 300_000],
  ['ND-81: a loss that was not written is tried again after 5 s', LOSS_RETRY_MS, 5_000],
  ['ND-135: reports of 50 ms become one transaction', BATCH_WINDOW_MS, 50],
  ['ND-162: ten events', MAX_EVENTS_PER_REPORT, 10],
  // Waybill's own limits:
  ['shortest TTL of a heartbeat', MIN_HEARTBEAT_TTL_MS, 10_000],
  ['heartbeats of a second', MAX_HEARTBEATS_PER_SECOND, 50],
  ['time before its term for which a holder looks back', LOOK_BACK_SECONDS, 300],
  ['reports of one transaction', MAX_BATCH_ALLOCS, 500],
  ['reports that wait', MAX_PENDING_ALLOCS, 50_000],
  ['remembered traces', MAX_REMEMBERED_TRACES, 20_000],
  ['wait for a state that a caller has seen', CATCH_UP_TIMEOUT_MS, 5_000],
  ['services of one call', MAX_SERVICES_PER_CALL, 500],
  ['bytes of a signed token', MAX_SIGNED_TOKEN_BYTES, 8_192],
  ['registrations written at once', MAX_REGISTERING, 128],
  ['registrations that wait', MAX_WAITING_REGISTRATIONS, 20_000],
  ['time between two signs of a process', SIGN_EVERY_MS, 1_000],
  ['silence of a process that is gone', SILENCE_MS, 3_000],
])('%s', (_, value, wanted) => {
  expect(value).toBe(wanted);
});
