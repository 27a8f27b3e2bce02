import { Controller, Inject } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { WriteRejectedError, type AskedBy } from '@waybill/lease';
import {
  Answers,
  claimVolume,
  RpcContext,
  RpcError,
  unpublishVolume,
  type AgentClaimRequest,
  type ClaimVolumeResponse,
  type IndexResponse,
} from '@waybill/rpc';
import { NotHolderError, PermissionDeniedError, VolumeRefusedError, VolumeStepError } from './errors.js';
import { VolumesHolder } from './volumes-holder.js';

/** What agents ask the holder of the role for their allocations. */
@Controller()
export class VolumesController {
  constructor(@Inject(VolumesHolder) private readonly holder: VolumesHolder) {}

  @Answers(claimVolume)
  claim(@Payload() request: AgentClaimRequest, @Ctx() context: RpcContext): Promise<ClaimVolumeResponse> {
    return answered(() => this.holder.term.claims.claim(request, tracedBy(context)));
  }

  @Answers(unpublishVolume)
  unpublish(@Payload() request: AgentClaimRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    return answered(async () => ({ Index: await this.holder.term.claims.release(request, tracedBy(context)) }));
  }
}

const tracedBy = ({ traceparent }: RpcContext): AskedBy => ({ traceparent });

/** How a failure looks to the asker: the one place that decides it. */
async function answered<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NotHolderError) throw new RpcError('unavailable', error.message);
    if (error instanceof PermissionDeniedError) throw new RpcError('forbidden', error.message);
    if (error instanceof VolumeRefusedError) throw new RpcError('invalid', error.message);
    if (error instanceof WriteRejectedError || error instanceof VolumeStepError)
      throw new RpcError('conflict', error.message);
    throw error;
  }
}
