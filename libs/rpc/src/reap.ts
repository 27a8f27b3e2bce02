import { call } from './call.js';
import type { EvalToken, IndexResponse } from './broker.js';

/** Ids that one transaction removes (GC-92): with these it stays at a quarter of a megabyte. */
export const MAX_REAPED_IDS = 7281;
/** Jobs that one transaction purges: with names of the usual length they weigh about the same (GC-92). */
export const MAX_REAPED_JOBS = 2048;

/** Plugins and volumes of one request: each is a transaction of its own, and all must be written in the call's time. */
export const MAX_REAPED_VOLUMES = 256;

/** Tokens of one run (GC-77). */
export const MAX_REAPED_TOKENS = 4_096;

/** Records of one kind that nobody can need any more. */
export type Reap =
  /** No more of both together than MAX_REAPED_IDS. */
  | { readonly Kind: 'evaluations'; readonly EvalIDs: readonly string[]; readonly AllocIDs: readonly string[] }
  | { readonly Kind: 'jobs'; readonly Jobs: readonly Reaped[] }
  | { readonly Kind: 'deployments'; readonly DeploymentIDs: readonly string[] }
  | { readonly Kind: 'nodes'; readonly NodeIDs: readonly string[] }
  /** Tokens that have expired by a time, RFC 3339. */
  | { readonly Kind: 'tokens'; readonly AccessorIDs: readonly string[]; readonly ExpiredBy: string }
  /** All one-time tokens that have expired by a time, unix ns (GC-74). */
  | { readonly Kind: 'one-time-tokens'; readonly ExpiredByNs: number }
  | { readonly Kind: 'plugins'; readonly PluginIDs: readonly string[] }
  /** Nothing is removed of them: whoever frees claims is told to look (GC-63). */
  | { readonly Kind: 'volume-claims'; readonly Volumes: readonly Reaped[] };

/** A job, a volume. */
export interface Reaped {
  readonly Namespace: string;
  readonly ID: string;
}

/** What a core evaluation found to be collectable; asked with the token of its delivery. */
export interface ReapRequest extends EvalToken {
  readonly Reap: Reap;
  /** Index of the state that was looked at: what was written since stays. */
  readonly ScanIndex: number;
}

/** Longer than most: the answer waits until the deletion can be read, so that collecting never runs ahead of readers. */
const REAP_TIMEOUT_MS = 40_000;

/** Removes them, in the name of a core evaluation's delivery (EB-152). */
export const reap = call<ReapRequest, IndexResponse>('broker.reap', { role: 'broker', timeoutMs: REAP_TIMEOUT_MS });
