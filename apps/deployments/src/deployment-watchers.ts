import { HolderWriter, type Singleton, type Term } from '@waybill/lease';
import { isActiveDeployment, type Clock, type Timers, Turns } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import type { Applied } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import { DeploymentWatcher, WatcherCounters, type Watching } from './deployment-watcher.js';
import { NotEnabledError } from './not-enabled-error.js';
import { ReadLimiter } from './read-limiter.js';
import { UpdateBatcher } from './update-batcher.js';

export interface DeploymentWatchersDeps {
  readonly state: ReplicatedState;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly logger: Logger;
  readonly region: string;
  /** DP-612. */
  readonly readsPerSecond?: number;
}

/**
 * The watchers of active deployments, one each, while this process holds the role `deployments`.
 *
 * Modes: standby → holder → standby. `start` builds all watchers from state, `applied` wakes those whose deployment or
 * allocations the transaction changed, starts new ones and drops those of deployments that are over or gone (DP-601 to
 * DP-605); `stop` drops everything without writing.
 * Memory: one small object per active deployment. Cost of `applied`: the rows the transaction changed, however many
 * deployments are watched (DP-608, DP-611).
 */
export class DeploymentWatchers implements Singleton {
  readonly role = 'deployments';
  private readonly watchers = new Map<string, DeploymentWatcher>();
  private session: Watching | undefined;

  constructor(private readonly deps: DeploymentWatchersDeps) {}

  /** What the holder's commands share with the watchers. @throws NotEnabledError */
  get watching(): Watching {
    if (!this.session) throw new NotEnabledError();
    return this.session;
  }

  start(term: Term): void {
    this.session = this.newSession(term);
    // All deployments once per term: there is nothing else to begin from.
    for (const deployment of this.deps.state.tables.deployment.all())
      if (isActiveDeployment(deployment)) this.watcherOf(deployment.ID)?.begin();
  }

  applied({ changes }: Applied): void {
    if (!this.session) return;
    for (const change of changes) {
      if (change.table === 'deployment') {
        if (change.after && isActiveDeployment(change.after)) this.watcherOf(change.key)?.changed();
        else this.drop(change.key);
      } else if (change.table === 'allocs') {
        const id = change.after?.DeploymentID;
        if (id) this.watchers.get(id)?.changed();
      }
    }
  }

  stop(): void {
    const { session } = this;
    this.session = undefined;
    session?.writer.close();
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
    };
  }

  /** Starts it if it is not there. */
  private watcherOf(id: string): DeploymentWatcher | undefined {
    if (!this.session) return undefined;
    let watcher = this.watchers.get(id);
    if (!watcher) {
      watcher = new DeploymentWatcher(id, this.session);
      this.watchers.set(id, watcher);
    }
    return watcher;
  }

  private drop(id: string): void {
    this.watchers.get(id)?.stop();
    this.watchers.delete(id);
  }

  private newSession(term: Term): Watching {
    const { state, clock, timers, newId, logger } = this.deps;
    const writer = new HolderWriter({ ...this.deps, closedError: () => new NotEnabledError() }, term.fence);
    const batcher = new UpdateBatcher({
      clock,
      timers,
      updateOf: (id) => this.watchers.get(id)?.update(),
      // One transaction for deployments of any namespace.
      write: (batch) => writer.write('AllocUpdateDesiredTransition', batch, ''),
      onError: (error) => logger.warn('the update of deployments failed, it is tried again', { error }),
    });
    return {
      tables: state.tables,
      clock,
      timers,
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
