import { completeDrains, updateNodeDrain, updateNodeEligibility } from './node-drain.js';
import { upsertNodeEvents } from './node-events.js';
import { nodeIntroductionAppliers } from './node-introductions.js';
import { deregisterNode, deregisterNodes, registerNode } from './node-register.js';
import { updateNodeStatus } from './node-status.js';
import type { Appliers } from '../machine/applier.js';

/** Appliers of nodes (section 5). */
export const nodeAppliers: Appliers<
  | 'NodeRegister'
  | 'NodeDeregister'
  | 'NodeBatchDeregister'
  | 'NodeUpdateStatus'
  | 'NodeUpdateDrain'
  | 'BatchNodeUpdateDrain'
  | 'NodeUpdateEligibility'
  | 'UpsertNodeEvents'
  | 'NodeIntroduction'
> = {
  NodeRegister: registerNode,
  NodeDeregister: deregisterNode,
  NodeBatchDeregister: deregisterNodes,
  NodeUpdateStatus: updateNodeStatus,
  NodeUpdateDrain: updateNodeDrain,
  BatchNodeUpdateDrain: completeDrains,
  NodeUpdateEligibility: updateNodeEligibility,
  UpsertNodeEvents: upsertNodeEvents,
  ...nodeIntroductionAppliers,
};
