import type { NodeStatus } from '@waybill/model';
import type { StateResender } from './state-resender.js';
import type { PullLoop } from './pull-loop.js';
import type { ContactListener } from './server-contact.js';

/**
 * ContactEffects starts the pull at a state that has the first registration (AG-202), and passes heartbeats on to
 * StateResender (AG-68).
 */
export class ContactEffects implements ContactListener {
  constructor(
    private readonly pullLoop: Pick<PullLoop, 'start'>,
    private readonly stateResender: Pick<StateResender, 'handleNodeStatus'>,
  ) {}

  registered(index: number): void {
    this.pullLoop.start(index);
  }

  handleNodeStatus(status: NodeStatus): void {
    this.stateResender.handleNodeStatus(status);
  }
}
