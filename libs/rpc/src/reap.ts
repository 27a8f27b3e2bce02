import { call } from './call.js';
import type { EvalToken, IndexResponse } from './broker.js';

/** Ids that one transaction removes (GC-92): with these it stays at a quarter of a megabyte. */
export const MAX_REAPED_IDS = 7281;
/** Jobs that one transaction purges: with names of the usual length they weigh about the same (GC-92). */
export const MAX_REAPED_JOBS = 2048;

/** Records of one kind that nobody can need any more. */
export type Reap =
  /** No more of both together than MAX_REAPED_IDS. */
  | { readonly Kind: 'evaluations'; readonly EvalIDs: readonly string[]; readonly AllocIDs: readonly string[] }
  | { readonly Kind: 'jobs'; readonly Jobs: readonly ReapedJob[] }
  | { readonly Kind: 'deployments'; readonly DeploymentIDs: readonly string[] }
  | { readonly Kind: 'nodes'; readonly NodeIDs: readonly string[] };

export interface ReapedJob {
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
