import type { Appliers } from './state-machine.js';

export const planAppliers: Appliers<'ApplyPlanResults'> = {
  ApplyPlanResults() {
    throw new Error('ApplyPlanResults has no applier yet');
  },
};
