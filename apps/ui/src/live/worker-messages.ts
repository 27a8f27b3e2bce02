import type { Change } from './change.js';
import type { StreamStatus } from './stream-status.js';

/** What a tab says first. The tab holds the lock for as long as it lives, so the worker hears when it is gone. */
export interface FollowRequest {
  readonly token: string;
  readonly lock: string;
}

export type WorkerMessage =
  | { readonly kind: 'status'; readonly status: StreamStatus }
  | { readonly kind: 'changes'; readonly changes: readonly Change[] }
  | { readonly kind: 'gap' };
