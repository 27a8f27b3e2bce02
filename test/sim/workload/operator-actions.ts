import { defaultSchedulerConfiguration } from '@waybill/model';
import type { Cluster } from '../cluster.js';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { UserApi, Written } from '../world/user-api.js';
import type { Actions } from './action.js';

export const OPERATOR_ACTIONS: Actions = {
  'pause broker': [2, (api, _cluster, random) => api.configure(configuration(random.chance(0.5), random))],
  'collect garbage': [3, (api) => api.collectGarbage()],
  'save snapshot': [4, (api, cluster) => save(api, cluster)],
  /** Rare: it takes back most of what a run has come to. */
  'restore snapshot': [
    0.4,
    (api, { snapshots }, random) => (snapshots.length > 0 ? api.restoreSnapshot(random.pick(snapshots)) : undefined),
  ],
};

async function save(api: UserApi, { snapshots }: Cluster): Promise<Written> {
  snapshots.push(await api.saveSnapshot());
  return { Index: 0 };
}

/** The broker hands out evaluations again. */
export const unpauseBroker = (api: UserApi): Promise<Written> => api.configure(defaultSchedulerConfiguration());

function configuration(PauseEvalBroker: boolean, random: SeededRandom) {
  const config = defaultSchedulerConfiguration();
  return {
    ...config,
    PauseEvalBroker,
    SchedulerAlgorithm: random.pick(['binpack', 'spread'] as const),
    PreemptionConfig: { ...config.PreemptionConfig, ServiceSchedulerEnabled: random.chance(0.5) },
  };
}
