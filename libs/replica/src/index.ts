export * from './local-state.js';
export * from './replica.js';
export { readLog, type ReadLogOptions } from './read-log.js';
export { replay } from './replay.js';
export * from './replicated-state.js';
export { IndexWaiters, MAX_WAITERS } from './waiters.js';
