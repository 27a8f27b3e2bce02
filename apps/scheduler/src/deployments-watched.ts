/**
 * Whether somebody ends a deployment once it was created: sets health, promotes canaries, keeps deadlines. Only then may
 * the scheduler create deployments, hold updates back by `max_parallel` and wait for canaries; without a watcher every
 * rolling update would stop after its first step, for ever. The service `deployments` watches, and agents report health.
 *
 * False is for tests of what the scheduler does alone: everything is replaced at once.
 */
export const DEPLOYMENTS_WATCHED: boolean = true;
