import type { Gate } from '../waiting/gate.js';
import type { OrderedUpdates } from './ordered-updates.js';
import type { StateResender } from './state-resender.js';
import type { Pulled, PullListener, PullReceiver } from './pull-loop.js';
import type { PushLoop } from './push-loop.js';
import type { ServerContact } from './server-contact.js';

export interface PullEffectsDependencies {
  readonly allocations: PullReceiver;
  /** The gate that this class opens with the first pull. */
  readonly serversAsked: Gate;
  readonly contact: Pick<ServerContact, 'nodeChanged' | 'heartbeatNow'>;
  readonly stateResender: Pick<StateResender, 'handleAppliedList'>;
  readonly updates: Pick<OrderedUpdates, 'recordRestore'>;
  readonly pushLoop: Pick<PushLoop, 'startSending'>;
  readonly collector: { collectIfFull(): void };
  readonly disconnectStops: { stopOverdue(): void };
}

/**
 * PullEffects applies a list of the servers to the allocations first, and then to the parts of the agent that wait for
 * it. A refused list leads to a heartbeat.
 */
export class PullEffects implements PullListener {
  constructor(private readonly deps: PullEffectsDependencies) {}

  apply(pulled: Pulled): void {
    this.deps.allocations.apply(pulled);
    this.deps.serversAsked.open();
    // The servers' record of this machine may be as old as the archive that was restored (OP-47).
    if (pulled.isRestored) this.deps.contact.nodeChanged();
    this.deps.stateResender.handleAppliedList(pulled.isRestored);
    this.deps.pushLoop.startSending();
    this.deps.collector.collectIfFull();
    this.deps.disconnectStops.stopOverdue();
    this.deps.updates.recordRestore(pulled.restoredIndex);
  }

  /** Asks the servers at once whether they still know this machine. */
  refused(): void {
    this.deps.contact.heartbeatNow();
  }
}
