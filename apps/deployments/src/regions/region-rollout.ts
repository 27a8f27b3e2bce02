import { isActiveDeployment, regionsOf, type CancelTimer, type Deployment, type Job } from '@waybill/model';
import { regionRollout, runInRegion, unblockInRegion, type Regions } from '@waybill/rpc';
import type { Watching } from '../watching/deployment-watcher.js';
import { nextSteps, type RegionProgress, type RegionStep } from './next-region.js';
import type { PeerContacts } from './peer-contacts.js';
import type { RegionCommands } from './region-commands.js';
import { rolledOutJob } from '../watching/rolled-out-job.js';

/** Pause between two polls of the peers, varied by a fifth, so that regions do not all poll at once (DP-1119). */
export const POLL_MS = 10_000;
const POLL_SPREAD = 0.2;
/** Longest pause: it doubles up to this while a region cannot be reached. */
export const MAX_POLL_MS = 60_000;

/** Dependencies that the rollouts of one term share. */
export interface RegionWatching {
  readonly regions: Regions;
  readonly random: () => number;
  readonly watching: Watching;
  readonly commands: RegionCommands;
  readonly contacts: PeerContacts;
}

/**
 * Advances one active multiregion deployment together with the deployments of the other regions.
 *
 * Modes: resting ⇄ polling (asks every region of the job for its progress, and takes the next steps) → stopped. It
 * polls when its own deployment changes, when a peer announces a change, and every POLL_MS. It keeps nothing: each poll
 * starts from state and peers alone (DP-1134), so it may be lost at any moment.
 * Cost of a poll: one concurrent call for each other region of the job. One timer, none if there is no other region.
 */
export class RegionRollout {
  private mode: 'resting' | 'looking' | 'stopped' = 'resting';
  private hasNews = false;
  private pollMs = POLL_MS;
  private cancelTimer: CancelTimer | undefined;

  constructor(
    private readonly id: string,
    private readonly shared: RegionWatching,
  ) {}

  /** Starts a poll, because the state here or in another region may have changed. */
  requestPoll(): void {
    if (this.mode === 'resting') void this.poll();
    else this.hasNews = true;
  }

  stop(): void {
    this.mode = 'stopped';
    this.cancelTimer?.();
  }

  private async poll(): Promise<void> {
    this.mode = 'looking';
    this.hasNews = false;
    this.cancelTimer?.();
    let complete = false;
    try {
      complete = await this.carryOutNextSteps();
    } catch (error) {
      this.shared.watching.logger.warn('a multiregion rollout does not get on', { deployment: this.id, error });
    }
    this.pollMs = complete ? POLL_MS : Math.min(this.pollMs * 2, MAX_POLL_MS);
    this.scheduleNextPoll(complete);
  }

  private scheduleNextPoll(complete: boolean): void {
    if (this.isStopped()) return;
    this.mode = 'resting';
    if (this.hasNews) return this.requestPoll();
    if (complete && !this.hasPeers()) return;
    const { random, watching } = this.shared;
    const pauseMs = this.pollMs * (1 + POLL_SPREAD * (2 * random() - 1));
    this.cancelTimer = watching.timers.after(pauseMs, () => this.requestPoll());
  }

  /** @returns whether every region has answered */
  private async carryOutNextSteps(): Promise<boolean> {
    const begun = this.activeDeployment();
    if (!begun) return true;
    const job = rolledOutJob(this.shared.watching.tables, begun);
    const peers = await this.progressOfPeers(begun, job);
    const deployment = this.activeDeployment(); // as it is after the calls
    if (!deployment || this.isStopped()) return true;
    const { own } = this.shared.regions;
    const progress = regionsOf(job).map(({ Name }) => peers.get(Name)?.progress ?? progressOf(own, deployment));
    const ids = new Map([...peers].map(([name, peer]) => [name, peer.deploymentId]));
    const Strategy = job.Multiregion?.Strategy;
    const strategy = { maxParallel: Strategy?.MaxParallel ?? 0, onFailure: Strategy?.OnFailure ?? '' };
    for (const step of nextSteps(own, progress, strategy)) await this.carryOut(step, ids);
    return progress.every(({ status }) => status !== 'unknown');
  }

  private async progressOfPeers(deployment: Deployment, job: Job): Promise<ReadonlyMap<string, PeerProgress>> {
    const { own } = this.shared.regions;
    const peers = regionsOf(job).filter(({ Name }) => Name !== own);
    const asked = peers.map(async ({ Name }) => [Name, await this.progressOfPeer(Name, deployment)] as const);
    return new Map(await Promise.all(asked));
  }

  /** Progress of another region; a region that does not answer is unknown, whatever the reason (DP-1130). */
  private async progressOfPeer(region: string, deployment: Deployment): Promise<PeerProgress> {
    const { Namespace, JobID, JobVersion, Registration } = deployment;
    try {
      const { Status, DeploymentID, HasRun } = await this.shared.contacts.callPeer(region, regionRollout, {
        Namespace,
        JobID,
        JobVersion,
        Registration,
      });
      return { deploymentId: DeploymentID, progress: { name: region, status: Status, hasRun: HasRun } };
    } catch {
      return { deploymentId: '', progress: { name: region, status: 'unknown', hasRun: false } };
    }
  }

  /** Carries out a step. @throws any refusal or error of a region; the next poll decides anew */
  private async carryOut(step: RegionStep, ids: ReadonlyMap<string, string>): Promise<void> {
    const { commands } = this.shared;
    switch (step.do) {
      case 'fail':
        await commands.fail(this.id, {});
        return;
      case 'beginUnblocking':
        await commands.beginUnblocking(this.id, {});
        return;
      case 'succeed':
        await commands.unblock(this.id, {});
        return;
      case 'run':
        await this.runInRegions(step.regions, (region) => this.startRegion(region, ids.get(region)));
        return;
      case 'unblock':
        await this.runInRegions(step.regions, (region) => this.commandPeer(region, unblockInRegion, ids.get(region)));
        return;
    }
  }

  private async runInRegions(regions: readonly string[], act: (region: string) => Promise<unknown>): Promise<void> {
    const outcomes = await Promise.allSettled(regions.map(act));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  private startRegion(region: string, peerId: string | undefined): Promise<unknown> {
    const { regions, commands } = this.shared;
    return region === regions.own ? commands.start(this.id, {}) : this.commandPeer(region, runInRegion, peerId);
  }

  private commandPeer(region: string, call: typeof runInRegion, DeploymentID = ''): Promise<unknown> {
    const { contacts, regions } = this.shared;
    return contacts.callPeer(region, call, { DeploymentID, From: regions.own });
  }

  private activeDeployment(): Deployment | undefined {
    const deployment = this.shared.watching.tables.deployment.get(this.id);
    return deployment && isActiveDeployment(deployment) ? deployment : undefined;
  }

  private hasPeers(): boolean {
    const deployment = this.activeDeployment();
    if (!deployment) return false;
    return regionsOf(rolledOutJob(this.shared.watching.tables, deployment)).length > 1;
  }

  private isStopped(): boolean {
    return this.mode === 'stopped';
  }
}

interface PeerProgress {
  readonly deploymentId: string;
  readonly progress: RegionProgress;
}

function progressOf(name: string, { Status, HasRun }: Deployment): RegionProgress {
  return { name, status: Status, hasRun: HasRun === true };
}
