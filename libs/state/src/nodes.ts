import type { Appliers } from './state-machine.js';

export const nodeAppliers: Appliers<
  | 'NodeRegister'
  | 'NodeDeregister'
  | 'NodeUpdateStatus'
  | 'NodeUpdateDrain'
  | 'NodeUpdateEligibility'
  | 'UpsertNodeEvents'
> = {
  NodeRegister() {
    throw new Error('NodeRegister has no applier yet');
  },
  NodeDeregister() {
    throw new Error('NodeDeregister has no applier yet');
  },
  NodeUpdateStatus() {
    throw new Error('NodeUpdateStatus has no applier yet');
  },
  NodeUpdateDrain() {
    throw new Error('NodeUpdateDrain has no applier yet');
  },
  NodeUpdateEligibility() {
    throw new Error('NodeUpdateEligibility has no applier yet');
  },
  UpsertNodeEvents() {
    throw new Error('UpsertNodeEvents has no applier yet');
  },
};
