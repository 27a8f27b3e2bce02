import type { Actions } from './action.js';
import { ALLOCATION_ACTIONS } from './allocation-actions.js';
import { DEPLOYMENT_ACTIONS } from './deployment-actions.js';
import { HOST_VOLUME_ACTIONS } from './host-volume-actions.js';
import { JOB_ACTIONS } from './job-actions.js';
import { NODE_ACTIONS } from './node-actions.js';
import { OPERATOR_ACTIONS } from './operator-actions.js';
import { REGION_ACTIONS } from './region-actions.js';
import { VOLUME_ACTIONS } from './volume-actions.js';

/** Everything that users do in a run. To add one: docs/simulation.md. */
export const ACTIONS: Actions = {
  ...JOB_ACTIONS,
  ...ALLOCATION_ACTIONS,
  ...DEPLOYMENT_ACTIONS,
  ...NODE_ACTIONS,
  ...VOLUME_ACTIONS,
  ...HOST_VOLUME_ACTIONS,
  ...OPERATOR_ACTIONS,
};

/** A restore takes one region back behind what the others know of it: restores stay in runs of one region. */
const NOT_IN_REGIONS = new Set(['restore snapshot']);

/** Where there are several regions. */
export const ACTIONS_IN_REGIONS: Actions = {
  ...Object.fromEntries(Object.entries(ACTIONS).filter(([name]) => !NOT_IN_REGIONS.has(name))),
  ...REGION_ACTIONS,
};
