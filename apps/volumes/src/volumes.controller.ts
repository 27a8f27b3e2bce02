import { Controller, Inject } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { LOOK_AT_VOLUME } from '@waybill/model';
import {
  Answers,
  type ControllerListSnapshotsRequest,
  type ControllerListVolumesRequest,
  createSnapshots,
  type CreateSnapshotsRequest,
  createVolumes,
  deleteSnapshot,
  type DeleteSnapshotRequest,
  deleteVolumes,
  type DeleteVolumesRequest,
  deregisterVolumes,
  type DeregisterVolumesRequest,
  detachVolume,
  type DetachVolumeRequest,
  type ExternalVolumesResponse,
  type IndexResponse,
  listExternalVolumes,
  listSnapshots,
  registerVolumes,
  RpcContext,
  type SnapshotsResponse,
  type WriteVolumesRequest,
} from '@waybill/rpc';
import { answered, askedBy } from './commands/answered.js';
import { VolumesHolder } from './volumes-holder.js';

/** What the API asks the holder of the role for operators. */
@Controller()
export class VolumesController {
  constructor(@Inject(VolumesHolder) private readonly holder: VolumesHolder) {}

  @Answers(registerVolumes)
  register(@Payload() request: WriteVolumesRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    return written(() => this.holder.term.register.run(request.Volumes, askedBy(request, context)));
  }

  @Answers(createVolumes)
  create(@Payload() request: WriteVolumesRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    return written(() => this.holder.term.create.run(request.Volumes, askedBy(request, context)));
  }

  @Answers(deregisterVolumes)
  deregister(@Payload() request: DeregisterVolumesRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    const named = { namespace: request.Namespace, ids: request.VolumeIDs };
    return written(() => this.holder.term.deregister.run(named, request.Force, askedBy(request, context)));
  }

  @Answers(deleteVolumes)
  delete(@Payload() request: DeleteVolumesRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    const named = { namespace: request.Namespace, ids: request.VolumeIDs };
    return written(() => this.holder.term.delete.run(named, request.Secrets, askedBy(request, context)));
  }

  /** VL-157: all that the machine's ended allocations still hold. */
  @Answers(detachVolume)
  detach(@Payload() request: DetachVolumeRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    const claim = { ...LOOK_AT_VOLUME, NodeID: request.NodeID };
    const released = { namespace: request.Namespace, volumeId: request.VolumeID, claim };
    return written(() => this.holder.term.unpublish.run(released, askedBy(request, context)));
  }

  @Answers(createSnapshots)
  createSnapshots(@Payload() { Namespace, Snapshots }: CreateSnapshotsRequest): Promise<SnapshotsResponse> {
    return answered(() => this.holder.term.snapshots.create(Namespace, Snapshots));
  }

  @Answers(deleteSnapshot)
  deleteSnapshot(@Payload() request: DeleteSnapshotRequest): Promise<null> {
    return answered(async () => {
      await this.holder.term.snapshots.delete(request);
      return null;
    });
  }

  @Answers(listSnapshots)
  listSnapshots(@Payload() request: ControllerListSnapshotsRequest): Promise<SnapshotsResponse> {
    return answered(() => this.holder.term.snapshots.list(request));
  }

  @Answers(listExternalVolumes)
  listExternal(@Payload() request: ControllerListVolumesRequest): Promise<ExternalVolumesResponse> {
    return answered(() => this.holder.term.external.list(request));
  }
}

const written = (command: () => Promise<number>): Promise<IndexResponse> =>
  answered(async () => ({ Index: await command() }));
