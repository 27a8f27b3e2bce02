import { nsFromMs } from '@waybill/model';

/** Shortest TTL of a heartbeat (nodes.md section 17). */
export const MIN_HEARTBEAT_TTL_MS = 10_000;
export const MAX_HEARTBEATS_PER_SECOND = 50;
/** Grace for the transport of a heartbeat and one retry. */
export const HEARTBEAT_GRACE_MS = 10_000;
/** TTL that a new holder grants to nodes that it has not heard from (ND-78). */
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

/** The shortest TTL at this size of the cluster, milliseconds (ND-75). */
export function baseTtlMs(nodes: number, pace: HeartbeatPace): number {
  return Math.max(pace.minTtlMs, (nodes / pace.maxPerSecond) * 1_000);
}

/** The TTL of an answer: the base and a random part in [0, base) (ND-75). `random` in [0, 1). Milliseconds. */
export function answeredTtlMs(nodes: number, pace: HeartbeatPace, random: number): number {
  const base = baseTtlMs(nodes, pace);
  return Math.floor(base + base * random);
}

/**
 * The deadline of a node whose TTL is unknown here, because another replica or an earlier term answered it: its TTL is
 * below twice the base (ND-76).
 */
export function longestDeadlineMs(nodes: number, pace: HeartbeatPace): number {
  return 2 * baseTtlMs(nodes, pace) + pace.graceMs;
}

export const ttlNs = (ttlMs: number): number => nsFromMs(ttlMs);
