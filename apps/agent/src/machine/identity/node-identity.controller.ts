import { Controller } from '@nestjs/common';
import { Answers, type NodeIdentityResponse, readNodeIdentity, renewNodeIdentity, RpcError } from '@waybill/rpc';
import { MachineCredential } from './machine-credential.js';

/** Answers calls about the signed identity of this machine (AU-199). */
@Controller()
export class NodeIdentityController {
  constructor(private readonly credential: MachineCredential) {}

  @Answers(readNodeIdentity)
  read(): NodeIdentityResponse {
    const Claims = this.credential.claims();
    if (!Claims) throw new RpcError('internal', 'node does not have a JWT identity token');
    return { Claims };
  }

  @Answers(renewNodeIdentity)
  renew(): null {
    this.credential.requestRenewal();
    return null;
  }
}
