import { call } from './call.js';
import type { EvalToken, IndexResponse } from './broker.js';

/** Most IDs that one transaction removes, which keeps it at a quarter of a megabyte (GC-92). */
export const MAX_REAPED_IDS = 7281;
/** Most jobs that one transaction purges. With names of usual length, it has about the same size (GC-92). */
export const MAX_REAPED_JOBS = 2048;

/**
 * Most plugins and volumes in one request. Each is a transaction of its own, and all must be written within the call's
 * timeout.
 */
export const MAX_REAPED_VOLUMES = 256;

/** Most tokens of one run (GC-77). */
export const MAX_REAPED_TOKENS = 4_096;

/** Most root keys of one run. A cluster has a handful. */
export const MAX_REAPED_ROOT_KEYS = 64;

/** Records of one kind to remove. */
export type Reap =
  /** Together at most MAX_REAPED_IDS. */
  | { readonly Kind: 'evaluations'; readonly EvalIDs: readonly string[]; readonly AllocIDs: readonly string[] }
  | { readonly Kind: 'jobs'; readonly Jobs: readonly Reaped[] }
  | { readonly Kind: 'deployments'; readonly DeploymentIDs: readonly string[] }
  | { readonly Kind: 'nodes'; readonly NodeIDs: readonly string[] }
  /** Tokens that had expired at a time, RFC 3339. */
  | { readonly Kind: 'tokens'; readonly AccessorIDs: readonly string[]; readonly ExpiredBy: string }
  /** All one-time tokens that had expired at a time, in unix ns (GC-74). */
  | { readonly Kind: 'one-time-tokens'; readonly ExpiredByNs: number }
  /** Root keys that are not active. Those in use stay. */
  | { readonly Kind: 'root-keys'; readonly KeyIDs: readonly string[] }
  | { readonly Kind: 'plugins'; readonly PluginIDs: readonly string[] }
  /** Volumes whose claims the watcher should check. Nothing is removed (GC-63). */
  | { readonly Kind: 'volume-claims'; readonly Volumes: readonly Reaped[] };

/** A job or a volume. */
export interface Reaped {
  readonly Namespace: string;
  readonly ID: string;
}

/** Removes the records that a core evaluation found. The request carries the token of its delivery. */
export interface ReapRequest extends EvalToken {
  readonly Reap: Reap;
  /** Index of the scanned state. Rows that were written since stay. */
  readonly ScanIndex: number;
}

/**
 * Longer than most timeouts, because the response waits until the deletion can be read, so that collection never runs
 * ahead of readers.
 */
const REAP_TIMEOUT_MS = 40_000;

/** Removes the records, authorised by a core evaluation's delivery (EB-152). */
export const reap = call<ReapRequest, IndexResponse>('broker.reap', { role: 'broker', timeoutMs: REAP_TIMEOUT_MS });
