import type { DeploymentStatus } from '@waybill/model';

/** Progress of a region's part of a rollout. `unknown`: it does not answer; `none`: it has no such deployment. */
export interface RegionProgress {
  readonly name: string;
  readonly status: DeploymentStatus | 'none' | 'unknown';
  /** Whether it was ever started (DP-1118). */
  readonly hasRun: boolean;
}

export interface RolloutStrategy {
  /** Regions started and unfinished at once; 0: any number. */
  readonly maxParallel: number;
  /** `''`: the regions after a failed one fail; `fail_all`: all regions fail; `fail_local`: no other region fails. */
  readonly onFailure: string;
}

/** A region's next step in the rollout that it is part of. Each step can be repeated without harm. */
export type RegionStep =
  | { readonly do: 'fail' }
  | { readonly do: 'run'; readonly regions: readonly string[] }
  | { readonly do: 'beginUnblocking' }
  | { readonly do: 'unblock'; readonly regions: readonly string[] }
  | { readonly do: 'succeed' };

const DONE: ReadonlySet<RegionProgress['status']> = new Set(['blocked', 'unblocking', 'successful']);
const OVER: ReadonlySet<RegionProgress['status']> = new Set(['failed', 'successful', 'cancelled']);

/**
 * The next steps of the region `own`, by the last known progress of the others (section 2.12). Pure. Regions that
 * decide at the same time, each by its own knowledge, never start more regions than may run: regions begin in the order
 * of the list, and outdated knowledge only contains fewer finished regions (DP-1120).
 * @param regions all regions of the job, in its order, `own` among them
 */
export function nextSteps(
  own: string,
  regions: readonly RegionProgress[],
  strategy: RolloutStrategy,
): readonly RegionStep[] {
  const self = regions.find((region) => region.name === own);
  if (!self || !isActive(self)) return [];
  const mayGoOn = regions.filter((_, i) => !isStruckByFailure(regions, i, strategy.onFailure));
  if (!mayGoOn.includes(self)) return [{ do: 'fail' }];
  const steps: RegionStep[] = [];
  const run = regionsToRun(regions, strategy).filter((region) => mayGoOn.includes(region));
  if (run.length > 0) steps.push({ do: 'run', regions: run.map((region) => region.name) });
  const peers = regions.filter((region) => region !== self);
  if (self.status === 'blocked' && peers.every((peer) => DONE.has(peer.status))) steps.push({ do: 'beginUnblocking' });
  if (self.status === 'unblocking') for (const item of unblocking(peers)) steps.push(item);
  return steps;
}

const isActive = ({ status }: RegionProgress): boolean =>
  status !== 'none' && status !== 'unknown' && !OVER.has(status);

/** Whether a failure elsewhere fails this region, which has not finished (DP-1123). */
function isStruckByFailure(regions: readonly RegionProgress[], at: number, onFailure: string): boolean {
  if (onFailure === 'fail_local') return false;
  return regions.some(({ status }, i) => status === 'failed' && i !== at && (onFailure === 'fail_all' || i < at));
}

/**
 * Regions whose turn it is (DP-1115, DP-1116, DP-1130, DP-1131). A region that an operator has paused keeps its turn.
 */
function regionsToRun(regions: readonly RegionProgress[], { maxParallel }: RolloutStrategy): RegionProgress[] {
  const isBegun = regions.some(({ status, hasRun }) => hasRun || status === 'running' || DONE.has(status));
  const isMissing = ({ status }: RegionProgress): boolean =>
    status === 'none' || status === 'initializing' || status === 'unknown';
  if (!isBegun && regions.some(isMissing)) return [];
  const occupied = regions.filter(isOccupying).length;
  const free = maxParallel === 0 ? regions.length : Math.max(0, maxParallel - occupied);
  const waiting = regions.filter(({ status, hasRun }) => status === 'pending' || (status === 'paused' && !hasRun));
  return waiting.slice(0, free).filter(({ status }) => status === 'pending');
}

const isOccupying = ({ status, hasRun }: RegionProgress): boolean =>
  status === 'running' || status === 'unknown' || (status === 'paused' && hasRun);

/** The last region to finish unblocks all others, itself last (DP-1121). */
function unblocking(peers: readonly RegionProgress[]): RegionStep[] {
  const blocked = peers.filter(({ status }) => status === 'blocked').map(({ name }) => name);
  if (blocked.length > 0) return [{ do: 'unblock', regions: blocked }];
  const allDone = peers.every(({ status }) => status === 'unblocking' || status === 'successful');
  return allDone ? [{ do: 'succeed' }] : [];
}
