import { isActiveDeployment, type Job, Refusal } from '@waybill/model';
import { unblockDeployment } from '@waybill/rpc';
import { namespacedKey } from '@waybill/state';
import type { Cluster } from '../cluster.js';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { UserApi, Written } from '../world/user-api.js';
import type { Actions } from './action.js';
import { NAMESPACE } from './chosen.js';
import { aJobOf } from './job-shapes.js';
import { NEVER_PASSES, offeredService } from './offered-service.js';

/** Jobs of several regions: two that are rolled out region after region, and one that runs in each by itself (DP-1108). */
const REGIONAL_JOBS: readonly (readonly [id: string, type: string])[] = [
  ['shop', 'service'],
  ['portal', 'service'],
  ['crawl', 'batch'],
];

/** How often a user asks for the same before giving up. */
const MAX_TRIES = 5;

/** What users do in runs of several regions, beside everything else. */
export const REGION_ACTIONS: Actions = {
  'register in regions': [
    60,
    (api, cluster, random) => {
      const [id, type] = random.pick(REGIONAL_JOBS);
      return api.register(aRegionalJob(id, type, cluster, random));
    },
  ],
  'stop in regions': [5, (api, cluster, random) => stopEverywhere(api, cluster, random, false)],
  'purge in regions': [5, (api, cluster, random) => stopEverywhere(api, cluster, random, true)],
  'stop in one region': [
    4,
    (api, _cluster, random) => api.deregister(random.pick(REGIONAL_JOBS)[0], { purge: random.chance(0.3) }),
  ],
  'evaluate in one region': [
    4,
    (api, cluster, random) => {
      const job = chosenRegionalJob(cluster, random);
      return job && api.evaluate(job.ID);
    },
  ],
  'revert in one region': [
    2,
    (api, cluster, random) => {
      const job = chosenRegionalJob(cluster, random);
      return job && job.Version > 0 ? api.revert(job.ID, random.below(job.Version)) : undefined;
    },
  ],
  'unblock deployment': [
    8,
    (api, { tables }, random) => {
      const open = [...tables.deployment.all()].filter(
        (one) => one.IsMultiregion && isActiveDeployment(one) && one.Status !== 'running',
      );
      return open.length > 0 ? api.command(unblockDeployment, { DeploymentID: random.pick(open).ID }) : undefined;
    },
  ],
};

/** In all regions, in any order; now and then in the one alone where it is registered. */
function aRegionalJob(id: string, type: string, { world }: Cluster, random: SeededRandom): Job {
  const job = aJobOf(id, type, random);
  const others = [...world.links.keys()];
  const listed = random.chance(0.15) ? [] : others;
  const Services = type === 'service' ? [offeredService(id, random.chance(0.2) ? NEVER_PASSES : undefined)] : null;
  const names = random.chance(0.5) ? [world.region, ...listed] : [...listed, world.region];
  return {
    ...job,
    Multiregion: {
      Strategy: { MaxParallel: random.pick([0, 1, 1, 2]), OnFailure: random.pick(['', 'fail_all', 'fail_local']) },
      Regions: names.map((Name) => ({
        Name,
        Count: 1 + random.below(3),
        Datacenters: null,
        NodePool: '',
        Meta: null,
      })),
    },
    TaskGroups: job.TaskGroups.map((group) => ({ ...group, Count: 0, Services })),
  };
}

/** Whoever is told that it was not stopped everywhere does as the answer says: stops it again, after a while. */
async function stopEverywhere(api: UserApi, cluster: Cluster, random: SeededRandom, purge: boolean): Promise<Written> {
  const [id] = random.pick(REGIONAL_JOBS);
  const stop = async (triesLeft: number): Promise<Written> => {
    const requestId = random.uuid();
    const asked = cluster.globalStops?.begin(id, requestId);
    try {
      const written = await api.deregister(id, { global: true, purge }, requestId);
      asked?.expectStopped();
      return written;
    } catch (error) {
      asked?.failed();
      if (!(error instanceof Refusal) || triesLeft === 1) throw error;
      const pauseMs = random.between(1_000, 20_000);
      await new Promise<void>((resolve) => void cluster.simulator.schedule(pauseMs, 'a user asks again', resolve));
      return stop(triesLeft - 1);
    }
  };
  return stop(MAX_TRIES);
}

function chosenRegionalJob({ tables }: Cluster, random: SeededRandom): Job | undefined {
  const found = REGIONAL_JOBS.flatMap(([id]) => tables.jobs.get(namespacedKey(NAMESPACE, id)) ?? []);
  return found.length > 0 ? random.pick(found) : undefined;
}
