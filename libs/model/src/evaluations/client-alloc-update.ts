import type { Allocation } from './allocation.js';

/**
 * What an agent may say about an allocation (ST-101): nothing else is taken from it.
 * `ModifyTime` is the server's clock when the report arrived, unix ns; an agent's value is overwritten.
 */
export type ClientAllocUpdate = Pick<
  Allocation,
  'ID' | 'ClientStatus' | 'ClientDescription' | 'TaskStates' | 'NetworkStatus' | 'ModifyTime'
> & {
  readonly NodeID: string;
  /** Health as the agent judged it; null: no news. */
  readonly DeploymentStatus: { readonly Healthy: boolean | null; readonly Timestamp: string | null } | null;
};
