import {
  defaultSchedulerConfiguration,
  isActiveDeployment,
  isTerminalAllocation,
  type Deployment,
  type Node,
  NS_PER_SECOND,
} from '@waybill/model';
import {
  deregisterVolumes,
  failDeployment,
  pauseDeployment,
  promoteDeployment,
  registerVolumes,
  updateNodeDrain,
  updateNodeEligibility,
} from '@waybill/rpc';
import { fixtures, namespacedKey } from '@waybill/state';
import type { Cluster } from '../cluster.js';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { UserApi, Written } from '../world/user-api.js';
import { PLUGIN_ID } from '../world/storage-provider.js';
import { aJobOf, JOBS, VOLUMES } from './job-shapes.js';

/** Something a user does: picks what it is about from the state as it is, asks one API. */
export type Action = (api: UserApi, cluster: Cluster, random: SeededRandom) => Promise<Written> | undefined;

const NAMESPACE = 'default';
const NO_DRAIN = { DrainSpec: null, MarkEligible: false, Meta: null, UpdatedBy: '' } as const;

/** Each with how often it is done, compared with the others. */
export const ACTIONS: Readonly<Record<string, readonly [weight: number, action: Action]>> = {
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
      const job = randomJob(cluster, random);
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
      const job = randomJob(cluster, random);
      return job && api.evaluate(job.ID, { forceReschedule: random.chance(0.5) });
    },
  ],
  revert: [
    4,
    (api, cluster, random) => {
      const job = randomJob(cluster, random);
      return job && job.Version > 0 ? api.revert(job.ID, random.below(job.Version)) : undefined;
    },
  ],
  'stop allocation': [
    8,
    (api, cluster, random) => {
      const live = [...cluster.tables.allocs.all()].filter((alloc) => !isTerminalAllocation(alloc));
      return live.length > 0 ? api.stop(random.pick(live).ID, { reschedule: random.chance(0.3) }) : undefined;
    },
  ],
  promote: [
    8,
    (api, cluster, random) => {
      const deployment = randomDeployment(cluster, random);
      return (
        deployment &&
        api.command(promoteDeployment, { DeploymentID: deployment.ID, All: true, Groups: [], PromotedAt: 0 })
      );
    },
  ],
  'fail deployment': [
    2,
    (api, cluster, random) => {
      const deployment = randomDeployment(cluster, random);
      return deployment && api.command(failDeployment, { DeploymentID: deployment.ID });
    },
  ],
  'pause deployment': [
    4,
    (api, cluster, random) => {
      const deployment = randomDeployment(cluster, random);
      return deployment && api.command(pauseDeployment, { DeploymentID: deployment.ID, Pause: random.chance(0.4) });
    },
  ],
  drain: [
    6,
    (api, cluster, random) => {
      const node = randomNode(cluster, random);
      const Deadline = random.between(5, 60) * NS_PER_SECOND;
      const DrainSpec = { Deadline: random.chance(0.1) ? -1 : Deadline, IgnoreSystemJobs: random.chance(0.5) };
      return node && api.command(updateNodeDrain, { ...NO_DRAIN, NodeID: node.ID, DrainSpec });
    },
  ],
  'cancel drain': [
    4,
    (api, cluster, random) => {
      const node = randomNode(cluster, random);
      return node && api.command(updateNodeDrain, { ...NO_DRAIN, NodeID: node.ID, MarkEligible: random.chance(0.7) });
    },
  ],
  eligibility: [
    6,
    (api, cluster, random) => {
      const node = randomNode(cluster, random);
      const Eligibility = random.chance(0.7) ? 'eligible' : 'ineligible';
      return node && api.command(updateNodeEligibility, { NodeID: node.ID, Eligibility });
    },
  ],
  'register volume': [
    12,
    (api, _cluster, random) => {
      const [ID, AccessMode] = random.pick(Object.entries(VOLUMES));
      const uses = { RequestedCapabilities: [{ AccessMode, AttachmentMode: 'file-system' }], PluginID: PLUGIN_ID };
      const volume = fixtures.aVolumeRegistration({ ID, Name: ID, ExternalID: `disk of ${ID}`, ...uses });
      return api.command(registerVolumes, { Volumes: [volume] });
    },
  ],
  'deregister volume': [
    2,
    (api, _cluster, random) => {
      const VolumeIDs = [random.pick(Object.keys(VOLUMES))];
      return api.command(deregisterVolumes, { Namespace: NAMESPACE, VolumeIDs, Force: false });
    },
  ],
  'pause broker': [2, (api, _cluster, random) => api.configure(configuration(random.chance(0.5), random))],
};

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

function randomJob(cluster: Cluster, random: SeededRandom) {
  const jobs = JOBS.flatMap(([id]) => cluster.tables.jobs.get(namespacedKey(NAMESPACE, id)) ?? []);
  return jobs.length > 0 ? random.pick(jobs) : undefined;
}

function randomNode(cluster: Cluster, random: SeededRandom): Node | undefined {
  const nodes = [...cluster.tables.nodes.all()];
  return nodes.length > 0 ? random.pick(nodes) : undefined;
}

function randomDeployment(cluster: Cluster, random: SeededRandom): Deployment | undefined {
  const active = [...cluster.tables.deployment.all()].filter(isActiveDeployment);
  return active.length > 0 ? random.pick(active) : undefined;
}
