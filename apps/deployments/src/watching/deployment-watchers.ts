import { eachApart, HolderWriter, type Singleton, type Term } from '@waybill/roles';
import {
  isActiveDeployment,
  type Clock,
  type Deployment,
  type Timers,
  Turns,
  WallClockTimers,
  NotHolderError,
} from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import type { Regions } from '@waybill/rpc';
import type { Applied } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import { DeploymentWatcher, WatcherCounters, type Watching, NOT_ENABLED } from './deployment-watcher.js';
import { ReadLimiter } from './read-limiter.js';
import { RegionRollouts } from '../regions/region-rollouts.js';
import { UpdateBatcher } from './update-batcher.js';

export interface DeploymentWatchersDeps {
  readonly state: ReplicatedState;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly logger: Logger;
  readonly region: string;
  /** Rate limit of all watchers together (DP-612). */
  readonly readsPerSecond?: number;
  /** Connections to other regions; without them no deployment waits for another region. */
  readonly peers?: { readonly regions: Regions; readonly random: () => number };
}

/**
 * The watchers of active deployments, one for each, while this process holds the role `deployments`.
 *
 * Modes: standby → holder → standby. `start` creates all watchers from state. `applied` wakes the watchers whose
 * deployment or allocations the transaction changed, starts new ones, and drops those of deployments that are over or
 * deleted (DP-601 to DP-605). `stop` drops everything without writing.
 * Memory: one small object for each active deployment. Cost of `applied`: O(rows that the transaction changed), however
 * many deployments are watched (DP-608, DP-611).
 */
export class DeploymentWatchers implements Singleton {
  readonly role = 'deployments';
  private readonly watchers = new Map<string, DeploymentWatcher>();
  private session: Watching | undefined;
  private rollouts: RegionRollouts | undefined;

  constructor(private readonly deps: DeploymentWatchersDeps) {}

  /** The multiregion rollouts; undefined while this process does not hold the role. */
  get regionRollouts(): RegionRollouts | undefined {
    return this.rollouts;
  }

  /** The dependencies that commands share with the watchers. @throws NotHolderError */
  get watching(): Watching {
    if (!this.session) throw new NotHolderError(NOT_ENABLED);
    return this.session;
  }

  start(term: Term): void {
    const session = this.newSession(term);
    const { peers } = this.deps;
    this.session = session;
    this.rollouts = peers && new RegionRollouts({ ...peers, watching: session, term });
    // A term begins with one pass over all deployments, because nothing is kept from the previous one.
    const deployments = this.deps.state.tables.deployment.all();
    eachApart(
      deployments,
      ({ ID }) => `deployment ${ID}`,
      this.deps.logger,
      (deployment) => {
        if (isActiveDeployment(deployment)) this.beginWatching(deployment);
      },
    );
    this.rollouts?.beginTerm();
  }

  applied({ changes }: Applied): void {
    for (const change of changes) {
      if (change.table === 'deployment') {
        if (change.after && isActiveDeployment(change.after)) this.watcherOf(change.key)?.requestRead();
        else this.dropWatcher(change.key);
        this.rollouts?.deploymentChanged(change.key, change.before, change.after);
      } else if (change.table === 'allocs') {
        this.watchers.get(change.after?.DeploymentID ?? '')?.requestRead();
      } else if (change.table === 'jobs' && change.after && change.after.Version !== change.before?.Version)
        this.rollouts?.newVersion(change.after);
    }
  }

  stop(): void {
    const { session } = this;
    this.session = undefined;
    this.rollouts?.stop();
    this.rollouts = undefined;
    session?.writer.close(new NotHolderError(NOT_ENABLED));
    session?.batcher.stop();
    session?.limiter.stop();
    for (const watcher of this.watchers.values()) watcher.stop();
    this.watchers.clear();
  }

  stats(): Record<string, number> {
    let timers = 0;
    for (const watcher of this.watchers.values()) if (watcher.hasTimer) timers++;
    const { counters, limiter, batcher } = this.session ?? {};
    return {
      watched: this.watchers.size,
      timers,
      timersArmed: counters?.timersArmed ?? 0,
      allocationReads: counters?.allocationReads ?? 0,
      statusWriteRetries: counters?.statusWriteRetries ?? 0,
      readersWaiting: limiter?.size ?? 0,
      readWaitMs: limiter?.waitedMs ?? 0,
      updatesWaiting: batcher?.size ?? 0,
      batchesWritten: batcher?.batchesWritten ?? 0,
      evaluationsWritten: batcher?.evaluationsWritten ?? 0,
      ...this.peerStats(),
    };
  }

  /** Connection figures of each known region. */
  private peerStats(): Record<string, number> {
    const { regions } = this.deps.peers ?? {};
    const peers = regions?.names.filter((name) => name !== regions.own) ?? [];
    return Object.fromEntries(
      peers.flatMap((region) => {
        const { calls, errors } = this.rollouts?.contactOf(region) ?? { calls: 0, errors: 0 };
        return [
          [`peerCalls ${region}`, calls],
          [`peerErrors ${region}`, errors],
        ];
      }),
    );
  }

  private beginWatching(deployment: Deployment): void {
    this.watcherOf(deployment.ID)?.startWatching();
    this.rollouts?.beginRollout(deployment);
  }

  /** The watcher of a deployment, which is started if need be. */
  private watcherOf(id: string): DeploymentWatcher | undefined {
    if (!this.session) return undefined;
    let watcher = this.watchers.get(id);
    if (!watcher) {
      watcher = new DeploymentWatcher(id, this.session);
      this.watchers.set(id, watcher);
    }
    return watcher;
  }

  private dropWatcher(id: string): void {
    this.watchers.get(id)?.stop();
    this.watchers.delete(id);
  }

  private newSession(term: Term): Watching {
    const { state, clock, timers, newId, logger } = this.deps;
    const writer = new HolderWriter(this.deps, term.fence);
    const batcher = new UpdateBatcher({
      clock,
      timers,
      updateOf: (id) => this.watchers.get(id)?.update(),
      // One transaction for deployments of any namespace.
      write: (batch) => writer.write('AllocUpdateDesiredTransition', batch),
      onError: (error) => logger.warn('the update of deployments failed, it is tried again', { error }),
    });
    return {
      tables: state.tables,
      clock,
      timers,
      deadlines: new WallClockTimers({ clock, timers }),
      newId,
      logger,
      writer,
      batcher,
      turns: new Turns(),
      limiter: new ReadLimiter({ clock, timers }, this.deps.readsPerSecond),
      counters: new WatcherCounters(),
    };
  }
}
