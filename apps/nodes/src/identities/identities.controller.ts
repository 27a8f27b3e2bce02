import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { Answers, signIdentities, type SignIdentitiesRequest, type SignIdentitiesResponse } from '@waybill/rpc';
import { MachineCredentialPipe } from '@waybill/service';
import { IdentitySigning } from './identity-signing.js';

/** Answers requests of agents for signed identities of their tasks. */
@Controller()
export class IdentitiesController {
  constructor(private readonly identities: IdentitySigning) {}

  @Answers(signIdentities)
  signIdentities(@Payload(MachineCredentialPipe) request: SignIdentitiesRequest): Promise<SignIdentitiesResponse> {
    return this.identities.sign(request);
  }
}
