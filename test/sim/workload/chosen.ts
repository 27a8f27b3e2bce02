import {
  isActiveDeployment,
  isTerminalAllocation,
  type Allocation,
  type Deployment,
  type HostVolume,
  type Job,
  type Node,
} from '@waybill/model';
import { namespacedKey } from '@waybill/state';
import type { Cluster } from '../cluster.js';
import type { SeededRandom } from '../kernel/seeded-random.js';
import { JOBS } from './job-shapes.js';

export const NAMESPACE = 'default';

/*
 * What an action is about, picked from the state as it is; undefined: there is none of it.
 */

/** One of the jobs that users register; not a child. */
export function chosenJob({ tables }: Cluster, random: SeededRandom): Job | undefined {
  return oneOf(
    JOBS.flatMap(([id]) => tables.jobs.get(namespacedKey(NAMESPACE, id)) ?? []),
    random,
  );
}

export function chosenNode({ tables }: Cluster, random: SeededRandom): Node | undefined {
  return oneOf([...tables.nodes.all()], random);
}

export function chosenDeployment({ tables }: Cluster, random: SeededRandom): Deployment | undefined {
  return oneOf([...tables.deployment.all()].filter(isActiveDeployment), random);
}

export function chosenAllocation({ tables }: Cluster, random: SeededRandom): Allocation | undefined {
  return oneOf(
    [...tables.allocs.all()].filter((alloc) => !isTerminalAllocation(alloc)),
    random,
  );
}

export function chosenHostVolume({ tables }: Cluster, random: SeededRandom): HostVolume | undefined {
  return oneOf([...tables.host_volumes.all()], random);
}

const oneOf = <T>(found: readonly T[], random: SeededRandom): T | undefined =>
  found.length > 0 ? random.pick(found) : undefined;
