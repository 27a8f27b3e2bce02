/** Texts that clients and tests match (section 24). */
export const NOT_NEEDED = 'alloc not needed due to job update';
export const MIGRATING = 'alloc is being migrated';
export const UPDATING = 'alloc is being updated due to job update';
export const LOST = 'alloc is lost since its node is down';
export const RESCHEDULED = 'alloc was rescheduled because it failed';
export const NODE_TAINTED = 'alloc not needed as node is tainted';

export const BLOCKED_REMAINING = 'created to place remaining allocations';
export const BLOCKED_CONFLICTS = 'created due to placement conflicts';
export const DELAYED_RESCHEDULE = 'created for delayed rescheduling';
