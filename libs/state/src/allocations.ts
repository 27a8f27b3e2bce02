import type { Appliers } from './state-machine.js';

export const allocationAppliers: Appliers<'AllocClientUpdate' | 'AllocUpdateDesiredTransition'> = {
  AllocClientUpdate() {
    throw new Error('AllocClientUpdate has no applier yet');
  },
  AllocUpdateDesiredTransition() {
    throw new Error('AllocUpdateDesiredTransition has no applier yet');
  },
};
