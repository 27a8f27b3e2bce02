import type { Appliers } from './state-machine.js';

export const jobAppliers: Appliers<'JobRegister' | 'JobDeregister'> = {
  JobRegister() {
    throw new Error('JobRegister has no applier yet');
  },
  JobDeregister() {
    throw new Error('JobDeregister has no applier yet');
  },
};
