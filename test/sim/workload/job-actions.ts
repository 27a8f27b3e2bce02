import type { Actions } from './action.js';
import { chosenJob } from './chosen.js';
import { aJobOf, DISPATCHED, JOBS, LAUNCHED } from './job-shapes.js';

/** Two users in a run may have the same token: one child. */
const TOKENS = 12;

export const JOB_ACTIONS: Actions = {
  register: [
    30,
    (api, _cluster, random) => {
      const [id, type] = random.pick(JOBS);
      return api.register(aJobOf(id, type, random));
    },
  ],
  scale: [
    12,
    (api, cluster, random) => {
      const job = chosenJob(cluster, random);
      const [group] = job?.TaskGroups ?? [];
      if (!job || !group || (job.Type !== 'service' && job.Type !== 'batch')) return undefined;
      return api.register({
        ...structuredClone(job),
        Stop: false,
        TaskGroups: [{ ...structuredClone(group), Count: random.below(8) }],
      });
    },
  ],
  'stop job': [6, (api, _cluster, random) => api.deregister(random.pick(JOBS)[0])],
  'purge job': [3, (api, _cluster, random) => api.deregister(random.pick(JOBS)[0], { purge: true })],
  evaluate: [
    6,
    (api, cluster, random) => {
      const job = chosenJob(cluster, random);
      return job && api.evaluate(job.ID, { forceReschedule: random.chance(0.5) });
    },
  ],
  revert: [
    4,
    (api, cluster, random) => {
      const job = chosenJob(cluster, random);
      return job && job.Version > 0 ? api.revert(job.ID, random.below(job.Version)) : undefined;
    },
  ],
  plan: [
    5,
    (api, _cluster, random) => {
      const [id, type] = random.pick(JOBS);
      return api.plan(aJobOf(id, type, random));
    },
  ],
  dispatch: [
    6,
    (api, _cluster, random) => api.dispatch(DISPATCHED, random.chance(0.5) ? `token ${random.below(TOKENS)}` : ''),
  ],
  launch: [3, (api) => api.launch(LAUNCHED)],
};
