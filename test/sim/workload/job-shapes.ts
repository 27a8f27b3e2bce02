import { NS_PER_MINUTE, NS_PER_SECOND, type Job, type TaskGroup, type VolumeRequest } from '@waybill/model';
import { fixtures } from '@waybill/state';
import type { SeededRandom } from '../kernel/seeded-random.js';
import type { TaskScript } from '../world/task-host.js';
import { NEVER_PASSES, offeredService } from './offered-service.js';

/** Job ids of a run, with the type each has for ever (API-112). */
export const JOBS: readonly (readonly [id: string, type: string])[] = [
  ['web', 'service'],
  ['api', 'service'],
  ['cache', 'service'],
  ['queue', 'service'],
  ['db', 'service'],
  ['files', 'service'],
  ['session', 'service'],
  ['import', 'batch'],
  ['report', 'batch'],
  ['convert', 'batch'],
  ['nightly', 'batch'],
  ['logger', 'system'],
  ['scan', 'sysbatch'],
];

/** The one that is parameterized, and the one that is launched every minute. */
export const DISPATCHED = 'convert';
export const LAUNCHED = 'nightly';

/** Of the jobs with services: what is offered under the job's name, and looked at. */
const SERVING = new Set(['web', 'api']);

/** A version of one of the jobs: how many, how large, how it is rolled out and how its tasks behave. */
export function aJobOf(id: string, type: string, random: SeededRandom): Job {
  const group = fixtures.aGroup({}, type);
  const script = scriptOf(id, type, random);
  const [task] = group.Tasks;
  if (!task) throw new Error('a group of the fixtures has a task');
  return fixtures.aJob({
    ID: id,
    Type: type,
    Priority: random.pick([20, 50, 50, 80]),
    Constraints: random.chance(0.15) ? [{ LTarget: '${node.class}', RTarget: 'large', Operand: '=' }] : null,
    ParameterizedJob: id === DISPATCHED ? { Payload: 'optional', MetaRequired: null, MetaOptional: null } : null,
    Periodic: id === LAUNCHED ? everyMinute(random.chance(0.5)) : null,
    TaskGroups: [
      {
        ...group,
        Count: type === 'service' || type === 'batch' ? 1 + random.below(6) : group.Count,
        Update: group.Update && { ...group.Update, ...updateOf(id, random) },
        Volumes: volumesOf(id, random),
        EphemeralDisk: {
          ...group.EphemeralDisk,
          Sticky: type === 'service' && random.chance(0.5),
          Migrate: random.chance(0.8),
        },
        Services: SERVING.has(id) ? [offeredService(id, random.chance(0.15) ? NEVER_PASSES : undefined)] : null,
        Disconnect:
          type === 'service' && random.chance(0.3)
            ? {
                LostAfter: random.between(1, 10) * NS_PER_MINUTE,
                StopOnClientAfter: null,
                Replace: random.chance(0.7),
                Reconcile: random.pick(['best_score', 'keep_original', 'keep_replacement', 'longest_running']),
              }
            : null,
        Tasks: [
          {
            ...task,
            Config: { ...script },
            Resources: { ...task.Resources, CPU: random.pick([100, 500, 1_000, 1_800]), MemoryMB: 64 },
            RestartPolicy: { ...task.RestartPolicy, Attempts: random.below(2), Delay: 2 * NS_PER_SECOND },
          },
        ],
      },
    ],
  });
}

function scriptOf(id: string, type: string, random: SeededRandom): TaskScript {
  const exitCode = random.chance(0.2) ? 1 : 0;
  // Short, so that there is a time between two launches in which nothing is to be done.
  if (id === LAUNCHED) return { runForMs: random.between(500, 5_000), exitCode: 0, isFinite: true };
  if (type === 'batch' || type === 'sysbatch')
    return { runForMs: random.between(1_000, 60_000), exitCode, isFinite: true };
  return { runForMs: random.chance(0.15) ? random.between(5_000, 120_000) : 0, exitCode, isFinite: false };
}

const everyMinute = (ProhibitOverlap: boolean): Job['Periodic'] => ({
  Enabled: true,
  Spec: '* * * * *',
  Specs: null,
  SpecType: 'cron',
  ProhibitOverlap,
  TimeZone: 'UTC',
});

/** Disks by id, with how they may be used: one writer at a time, or many. */
export const VOLUMES: Readonly<Record<string, string>> = {
  data: 'single-node-writer',
  shared: 'multi-node-multi-writer',
};

/** Which of them a job's allocations use. */
const DISKS: Readonly<Record<string, string>> = { db: 'data', files: 'shared', cache: 'shared' };

/** The host volumes: those that users make, and the one that some machines have by their configuration. */
export const MADE_HOST_VOLUME = 'state';
export const STATIC_HOST_VOLUME = 'scratch';
/** Which of them a job's allocations use. */
const HOST_DISKS: Readonly<Record<string, string>> = { session: MADE_HOST_VOLUME, queue: STATIC_HOST_VOLUME };

function volumesOf(jobId: string, random: SeededRandom): TaskGroup['Volumes'] {
  const hostSource = HOST_DISKS[jobId];
  if (hostSource) return { disk: hostRequest(hostSource, random) };
  const Source = DISKS[jobId];
  const AccessMode = Source && VOLUMES[Source];
  if (!Source || !AccessMode) return null;
  return { disk: fixtures.aVolumeRequest({ Name: 'disk', Source, AccessMode }) };
}

function hostRequest(Source: string, random: SeededRandom): VolumeRequest {
  if (Source === STATIC_HOST_VOLUME)
    return fixtures.aVolumeRequest({ Name: 'disk', Type: 'host', Source, AccessMode: '', AttachmentMode: '' });
  const AccessMode = 'single-node-multi-writer';
  return fixtures.aVolumeRequest({ Name: 'disk', Type: 'host', Source, AccessMode, Sticky: random.chance(0.5) });
}

function updateOf(id: string, random: SeededRandom): Partial<NonNullable<TaskGroup['Update']>> {
  // A canary beside the only writer of a disk waits for it until somebody promotes it, which nobody can.
  const canary = random.chance(0.4) && VOLUMES[DISKS[id] ?? ''] !== 'single-node-writer' ? 1 : 0;
  return {
    HealthCheck: random.chance(0.5) ? 'task_states' : 'checks',
    MaxParallel: 1 + random.below(2),
    MinHealthyTime: random.between(1, 8) * NS_PER_SECOND,
    HealthyDeadline: 30 * NS_PER_SECOND,
    ProgressDeadline: 60 * NS_PER_SECOND,
    Canary: canary,
    AutoPromote: canary > 0 && random.chance(0.5),
    AutoRevert: random.chance(0.4),
  };
}
