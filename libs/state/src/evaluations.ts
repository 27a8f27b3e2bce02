import type { Appliers } from './state-machine.js';

export const evaluationAppliers: Appliers<'EvalUpdate' | 'EvalDelete'> = {
  EvalUpdate() {
    throw new Error('EvalUpdate has no applier yet');
  },
  EvalDelete() {
    throw new Error('EvalDelete has no applier yet');
  },
};
