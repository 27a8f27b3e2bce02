import { onBehalfOf } from '@waybill/writing';
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
import { VolumesHolder } from './volumes-holder.js';

/** RPC calls of the API for operators' requests. */
@Controller()
export class VolumesController {
  constructor(@Inject(VolumesHolder) private readonly holder: VolumesHolder) {}

  @Answers(registerVolumes)
  async register(@Payload() request: WriteVolumesRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    return {
      Index: await this.holder.term.register.registerVolumes(
        request.Volumes,
        onBehalfOf(request.For, context.traceparent),
      ),
    };
  }

  @Answers(createVolumes)
  async create(@Payload() request: WriteVolumesRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    return {
      Index: await this.holder.term.create.createVolumes(request.Volumes, onBehalfOf(request.For, context.traceparent)),
    };
  }

  @Answers(deregisterVolumes)
  async deregister(@Payload() request: DeregisterVolumesRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    const named = { namespace: request.Namespace, ids: request.VolumeIDs };
    return {
      Index: await this.holder.term.deregister.deregisterVolumes(
        named,
        request.Force,
        onBehalfOf(request.For, context.traceparent),
      ),
    };
  }

  @Answers(deleteVolumes)
  async delete(@Payload() request: DeleteVolumesRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    const named = { namespace: request.Namespace, ids: request.VolumeIDs };
    return {
      Index: await this.holder.term.delete.deleteVolumes(
        named,
        request.Secrets,
        onBehalfOf(request.For, context.traceparent),
      ),
    };
  }

  /** Releases all claims that ended allocations of the machine still hold (VL-157). */
  @Answers(detachVolume)
  async detach(@Payload() request: DetachVolumeRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    const claim = { ...LOOK_AT_VOLUME, NodeID: request.NodeID };
    const released = { namespace: request.Namespace, volumeId: request.VolumeID, claim };
    return {
      Index: await this.holder.term.unpublish.releaseClaim(released, onBehalfOf(request.For, context.traceparent)),
    };
  }

  @Answers(createSnapshots)
  async createSnapshots(@Payload() { Namespace, Snapshots }: CreateSnapshotsRequest): Promise<SnapshotsResponse> {
    return await this.holder.term.snapshots.create(Namespace, Snapshots);
  }

  @Answers(deleteSnapshot)
  async deleteSnapshot(@Payload() request: DeleteSnapshotRequest): Promise<null> {
    await this.holder.term.snapshots.delete(request);
    return null;
  }

  @Answers(listSnapshots)
  async listSnapshots(@Payload() request: ControllerListSnapshotsRequest): Promise<SnapshotsResponse> {
    return await this.holder.term.snapshots.list(request);
  }

  @Answers(listExternalVolumes)
  async listExternal(@Payload() request: ControllerListVolumesRequest): Promise<ExternalVolumesResponse> {
    return await this.holder.term.external.list(request);
  }
}
