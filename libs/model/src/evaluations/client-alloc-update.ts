import type { Allocation } from './allocation.js';

/**
 * The members of an allocation that its agent may set (ST-101). All others are ignored. `ModifyTime` is the server's
 * clock at the arrival of the report, in unix ns, and replaces the agent's value.
 */
export type ClientAllocUpdate = Pick<
  Allocation,
  'ID' | 'ClientStatus' | 'ClientDescription' | 'TaskStates' | 'NetworkStatus' | 'ModifyTime'
> & {
  readonly NodeID: string;
  /** Health in the agent's judgement. Null if it has not changed. */
  readonly DeploymentStatus: { readonly Healthy: boolean | null; readonly Timestamp: string | null } | null;
};
