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
import { answered, askedBy } from '../commands/answered.js';
import { VolumesHolder } from '../volumes-holder.js';

/** What the API asks the holder of the role for host volumes. */
@Controller()
export class HostVolumesController {
  constructor(@Inject(VolumesHolder) private readonly holder: VolumesHolder) {}

  @Answers(createHostVolume)
  create(@Payload() request: WriteHostVolumeRequest, @Ctx() context: RpcContext): Promise<WriteHostVolumeResponse> {
    return answered(() => this.holder.term.hostVolumes.create(request.Volume, askedBy(request, context)));
  }

  @Answers(registerHostVolume)
  register(@Payload() request: WriteHostVolumeRequest, @Ctx() context: RpcContext): Promise<WriteHostVolumeResponse> {
    return answered(() => this.holder.term.hostVolumes.register(request.Volume, askedBy(request, context)));
  }

  @Answers(deleteHostVolume)
  delete(@Payload() request: DeleteHostVolumeRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    const { Namespace, VolumeID, Force } = request;
    const by = askedBy(request, context);
    return answered(async () => ({ Index: await this.holder.term.hostVolumes.delete(Namespace, VolumeID, Force, by) }));
  }

  @Answers(deleteHostVolumeClaim)
  deleteClaim(@Payload() request: DeleteHostVolumeClaimRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    const { Namespace, ClaimID } = request;
    const by = askedBy(request, context);
    return answered(async () => ({ Index: await this.holder.term.hostVolumes.deleteClaim(Namespace, ClaimID, by) }));
  }
}
