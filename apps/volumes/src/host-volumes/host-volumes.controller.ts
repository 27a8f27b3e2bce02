import { onBehalfOf } from '@waybill/writing';
import { Controller, Inject } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  Answers,
  createHostVolume,
  deleteHostVolume,
  deleteHostVolumeClaim,
  type DeleteHostVolumeClaimRequest,
  type DeleteHostVolumeRequest,
  type IndexResponse,
  registerHostVolume,
  RpcContext,
  type WriteHostVolumeRequest,
  type WriteHostVolumeResponse,
} from '@waybill/rpc';
import { VolumesHolder } from '../volumes-holder.js';

/** RPC calls of the API for host volumes. */
@Controller()
export class HostVolumesController {
  constructor(@Inject(VolumesHolder) private readonly holder: VolumesHolder) {}

  @Answers(createHostVolume)
  async create(
    @Payload() request: WriteHostVolumeRequest,
    @Ctx() context: RpcContext,
  ): Promise<WriteHostVolumeResponse> {
    return await this.holder.term.hostVolumes.create(request.Volume, onBehalfOf(request.For, context.traceparent));
  }

  @Answers(registerHostVolume)
  async register(
    @Payload() request: WriteHostVolumeRequest,
    @Ctx() context: RpcContext,
  ): Promise<WriteHostVolumeResponse> {
    return await this.holder.term.hostVolumes.register(request.Volume, onBehalfOf(request.For, context.traceparent));
  }

  @Answers(deleteHostVolume)
  async delete(@Payload() request: DeleteHostVolumeRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    const { Namespace, VolumeID, Force } = request;
    const by = onBehalfOf(request.For, context.traceparent);
    return { Index: await this.holder.term.hostVolumes.delete(Namespace, VolumeID, Force, by) };
  }

  @Answers(deleteHostVolumeClaim)
  async deleteClaim(
    @Payload() request: DeleteHostVolumeClaimRequest,
    @Ctx() context: RpcContext,
  ): Promise<IndexResponse> {
    const { Namespace, ClaimID } = request;
    const by = onBehalfOf(request.For, context.traceparent);
    return { Index: await this.holder.term.hostVolumes.deleteClaim(Namespace, ClaimID, by) };
  }
}
