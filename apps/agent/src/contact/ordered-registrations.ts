import type { Node } from '@waybill/model';
import { type NodeUpdateResponse, registerNode, type Rpc } from '@waybill/rpc';
import { untilTaken } from './overtaken.js';

/**
 * Registers this machine so that no registration overtakes another (ND-223): each names the change of the node that it
 * comes after. One that was given up and is written late is not taken then. The first of a process knows of none, so a
 * node that is there already costs it one request more.
 */
export class OrderedRegistrations {
  private lastKnown = 0;

  constructor(private readonly rpc: Rpc) {}

  /** @param node this machine as it is when it is asked @throws OvertakenError, or what the call throws */
  send(node: () => Node): Promise<NodeUpdateResponse> {
    return untilTaken(async () => {
      const answer = await this.rpc.ask(registerNode, { Node: node(), After: this.lastKnown });
      this.lastKnown = answer.NodeModifyIndex;
      return answer.IsOvertaken ? undefined : answer;
    });
  }
}
