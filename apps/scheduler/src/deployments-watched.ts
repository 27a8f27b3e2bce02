/**
 * Whether anybody ends a deployment once it was created: sets health, promotes canaries, keeps deadlines. Only then may
 * the scheduler create deployments, hold updates back by `max_parallel` and wait for canaries; without a watcher every
 * rolling update would stop after its first step, for ever.
 *
 * False until the service `deployments` watches and agents report health. All of the logic behind it is here and tested
 * with true; what becomes of an update meanwhile: everything is replaced at once.
 */
export const DEPLOYMENTS_WATCHED: boolean = false;
