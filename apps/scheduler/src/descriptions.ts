/** Texts that clients and tests match (section 24). */
export const NOT_NEEDED = 'alloc not needed due to job update';
export const NOT_NEEDED_RECONNECTED = 'alloc not needed due to disconnected client reconnect';
export const MIGRATING = 'alloc is being migrated';
export const UPDATING = 'alloc is being updated due to job update';
export const LOST = 'alloc is lost since its node is down';
export const UNKNOWN = 'alloc is unknown since its node is disconnected';
export const RESCHEDULED = 'alloc was rescheduled because it failed';
export const NODE_TAINTED = 'alloc not needed as node is tainted';

export const BLOCKED_REMAINING = 'created to place remaining allocations';
export const BLOCKED_CONFLICTS = 'created due to placement conflicts';
export const DELAYED_RESCHEDULE = 'created for delayed rescheduling';
export const DISCONNECT_TIMEOUT = 'created for delayed disconnect timeout';
