import { updateAllocsFromClients } from './alloc-client-update.js';
import { updateDesiredTransitions } from './alloc-transition.js';
import type { Appliers } from '../machine/applier.js';

/** Appliers of allocations (section 7.2). */
export const allocationAppliers: Appliers<'AllocClientUpdate' | 'AllocUpdateDesiredTransition'> = {
  AllocClientUpdate: updateAllocsFromClients,
  AllocUpdateDesiredTransition: updateDesiredTransitions,
};
