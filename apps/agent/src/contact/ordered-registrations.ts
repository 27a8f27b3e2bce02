import type { Node } from '@waybill/model';
import { type NodeUpdateResponse, registerNode, type Rpc } from '@waybill/rpc';
import type { MachineCredential } from '../machine/identity/machine-credential.js';
import { retryUntilAccepted } from './overtaken.js';

/**
 * OrderedRegistrations registers this machine so that no registration overtakes another (ND-223). Each one names the
 * change of the node that it follows. The servers do not take an abandoned registration that arrives late. The first
 * registration of a process knows of no change, so an existing node costs it one more request.
 */
export class OrderedRegistrations {
  private lastKnown = 0;

  constructor(
    private readonly rpc: Rpc,
    private readonly credential: Pick<MachineCredential, 'inRegistration'>,
  ) {}

  /**
   * Registers the machine. @param node returns its current description @param token introduces it, if it is new
   * @throws OvertakenError, or the call's error
   */
  send(node: () => Node, token?: string): Promise<NodeUpdateResponse> {
    const introduction = token === undefined ? {} : { IntroductionToken: token };
    return retryUntilAccepted(async () => {
      const identity = this.credential.inRegistration;
      const described = node();
      const request = { Node: described, After: this.lastKnown, ...introduction, ...identity };
      const answer = await this.rpc.ask(registerNode, request, { machine: described.ID });
      this.lastKnown = answer.NodeModifyIndex;
      return answer.IsOvertaken ? undefined : answer;
    });
  }
}
