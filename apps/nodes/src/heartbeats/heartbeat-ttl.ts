import { nsFromMs } from '@waybill/model';

/** nodes.md section 17. */
export const MIN_HEARTBEAT_TTL_MS = 10_000;
export const MAX_HEARTBEATS_PER_SECOND = 50;
/** Covers the travel of a heartbeat and one retry of it. */
export const HEARTBEAT_GRACE_MS = 10_000;
/** What a new holder owes to nodes it has not heard from (ND-78). */
export const FAILOVER_HEARTBEAT_TTL_MS = 300_000;

export interface HeartbeatPace {
  readonly minTtlMs: number;
  readonly maxPerSecond: number;
  readonly graceMs: number;
  readonly failoverTtlMs: number;
}

export const DEFAULT_PACE: HeartbeatPace = {
  minTtlMs: MIN_HEARTBEAT_TTL_MS,
  maxPerSecond: MAX_HEARTBEATS_PER_SECOND,
  graceMs: HEARTBEAT_GRACE_MS,
  failoverTtlMs: FAILOVER_HEARTBEAT_TTL_MS,
};

/** ND-75: the shortest TTL at this size of the cluster, milliseconds. */
export function baseTtlMs(nodes: number, pace: HeartbeatPace): number {
  return Math.max(pace.minTtlMs, (nodes / pace.maxPerSecond) * 1_000);
}

/** ND-75: base plus a random part in [0, base); `random` in [0, 1). Milliseconds. */
export function answeredTtlMs(nodes: number, pace: HeartbeatPace, random: number): number {
  const base = baseTtlMs(nodes, pace);
  return Math.floor(base + base * random);
}

/** ND-76, for a node whose TTL is unknown here, as another replica or an earlier term answered it: below twice the base. */
export function longestDeadlineMs(nodes: number, pace: HeartbeatPace): number {
  return 2 * baseTtlMs(nodes, pace) + pace.graceMs;
}

export const ttlNs = (ttlMs: number): number => nsFromMs(ttlMs);
