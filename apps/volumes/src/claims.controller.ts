import { Controller, Inject } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  type AgentClaimRequest,
  Answers,
  claimVolume,
  type ClaimVolumeResponse,
  type IndexResponse,
  RpcContext,
  unpublishVolume,
} from '@waybill/rpc';
import { MachineCredentialPipe } from '@waybill/service';
import { VolumesHolder } from './volumes-holder.js';

/** RPC calls of agents, which claim and release volumes for their allocations. */
@Controller()
export class ClaimsController {
  constructor(@Inject(VolumesHolder) private readonly holder: VolumesHolder) {}

  @Answers(claimVolume)
  async claim(
    @Payload(MachineCredentialPipe) request: AgentClaimRequest,
    @Ctx() { traceparent }: RpcContext,
  ): Promise<ClaimVolumeResponse> {
    return await this.holder.term.claims.claim(request, { traceparent });
  }

  @Answers(unpublishVolume)
  async unpublish(
    @Payload(MachineCredentialPipe) request: AgentClaimRequest,
    @Ctx() { traceparent }: RpcContext,
  ): Promise<IndexResponse> {
    return { Index: await this.holder.term.claims.release(request, { traceparent }) };
  }
}
