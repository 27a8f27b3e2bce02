import type { Change } from './change.js';
import type { StreamStatus } from './stream-status.js';

/**
 * FollowRequest is a tab's first message. The tab holds the lock as long as it lives, so the worker notices when it has
 * gone.
 */
export interface FollowRequest {
  readonly token: string;
  readonly lock: string;
}

export type WorkerMessage =
  | { readonly kind: 'status'; readonly status: StreamStatus }
  | { readonly kind: 'changes'; readonly changes: readonly Change[] }
  | { readonly kind: 'gap' };
