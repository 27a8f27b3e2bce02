import type { Node, NodeListStub } from '@waybill/model';
import { isInterrupt } from '../failure.js';
import type { ApiClient } from '../server/api-client.js';
import { someAtOnce } from '../server/some-at-once.js';
import { escapeControls } from '../terminal/table.js';
import { unmetRequests, asksForAttributes, type AskingJob, type Machine } from './unmet-requests.js';
import { type Metrics, placementBullets } from './placement-metrics.js';

/** Number of machines that are read one by one for their attributes. */
const MAX_READ = 20;

type Failures = readonly (readonly [group: string, metrics: Metrics])[];

/** Bullets by name of the group. */
export type PlacementReasons = ReadonlyMap<string, readonly string[]>;

/**
 * Compares the request of each failed group with the resources, drivers and attributes of the machines. A failed read
 * gives no bullets and no error, because the contract's bullets (CL-221) suffice. Cost: one read of all machines, and
 * if a constraint compares an attribute, up to MAX_READ reads of single machines.
 */
export async function placementReasons(
  api: Pick<ApiClient, 'get'>,
  jobOf: () => AskingJob | Promise<AskingJob>,
  failures: Failures,
): Promise<PlacementReasons> {
  if (failures.length === 0) return new Map();
  try {
    const [job, machines] = await Promise.all([jobOf(), machinesFor(api, failures)]);
    const groups = new Map((job.TaskGroups ?? []).map((group) => [group.Name, group]));
    return new Map(
      failures.flatMap(([name, metrics]) => {
        const group = groups.get(name);
        return group ? [[name, unmetRequests(metrics, job, group, machines)]] : [];
      }),
    );
  } catch (error) {
    if (isInterrupt(error)) throw error;
    return new Map();
  }
}

async function machinesFor(api: Pick<ApiClient, 'get'>, failures: Failures): Promise<Machine[]> {
  const all = (await api.get<NodeListStub[] | null>('/v1/nodes', { resources: true })).value ?? [];
  if (!failures.some(([, metrics]) => asksForAttributes(metrics))) return all;
  const whole = await someAtOnce(
    all.slice(0, MAX_READ),
    async ({ ID }) => (await api.get<Node>(`/v1/node/${encodeURIComponent(ID)}`)).value,
  );
  return [...whole, ...all.slice(MAX_READ)];
}

/**
 * Returns the reasons why a group could not be placed: the contract's bullets (CL-221), then the comparison with the
 * machines.
 */
export function failureLines(
  [group, metrics]: readonly [string, Metrics],
  reasons: PlacementReasons,
  red: (text: string) => string,
): string[] {
  return [...placementBullets(metrics, red), ...(reasons.get(group) ?? []).map(escapeControls)];
}
