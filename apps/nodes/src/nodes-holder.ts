import type { Singleton, Term } from '@waybill/roles';
import type { Applied } from '@waybill/state';
import type { Drainer } from './drain/drainer.js';
import type { Heartbeats } from './heartbeats/heartbeats.js';
import type { MissingNodeEvaluations } from './heartbeats/missing-node-evaluations.js';

/**
 * The tasks of the holder of role `nodes` beside answering calls: it checks heartbeats, empties draining nodes, and
 * writes evaluations that a crash left out. Everything in memory is rebuilt from state when the lease is taken.
 */
export class NodesHolder implements Singleton {
  readonly role = 'nodes';

  constructor(
    private readonly heartbeats: Heartbeats,
    private readonly missingEvaluations: MissingNodeEvaluations,
    private readonly drainer: Drainer,
  ) {}

  start(term: Term): void {
    this.heartbeats.start(term);
    this.missingEvaluations.start();
    this.drainer.start(term.fence);
  }

  applied(applied: Applied): void {
    this.heartbeats.applied(applied);
    this.missingEvaluations.applied(applied);
    this.drainer.applied(applied);
  }

  stop(): void {
    this.heartbeats.stop();
    this.missingEvaluations.stop();
    this.drainer.stop();
  }

  stats(): Record<string, number> {
    return { ...this.heartbeats.stats(), ...this.missingEvaluations.stats(), ...this.drainer.stats() };
  }
}
