import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import {
  Answers,
  type ControllerAttachVolumeRequest,
  type ControllerAttachVolumeResponse,
  type ControllerCreateSnapshotRequest,
  type ControllerCreateVolumeRequest,
  type ControllerCreateVolumeResponse,
  type ControllerDeleteSnapshotRequest,
  type ControllerDeleteVolumeRequest,
  type ControllerDetachVolumeRequest,
  type ControllerExpandVolumeRequest,
  type ControllerExpandVolumeResponse,
  type ControllerListSnapshotsRequest,
  type ControllerListSnapshotsResponse,
  type ControllerListVolumesRequest,
  type ControllerListVolumesResponse,
  type ControllerValidateVolumeRequest,
  csiControllerAttach,
  csiControllerCreate,
  csiControllerCreateSnapshot,
  csiControllerDelete,
  csiControllerDeleteSnapshot,
  csiControllerDetach,
  csiControllerExpand,
  csiControllerList,
  csiControllerListSnapshots,
  csiControllerValidate,
  csiNodeDetach,
  csiNodeExpand,
  type ExternalSnapshot,
  type NodeDetachVolumeRequest,
  type NodeExpandVolumeRequest,
  type NodeExpandVolumeResponse,
} from '@waybill/rpc';
import { ControllerCalls } from './controller-calls.js';
import { NodeCalls } from './node-calls.js';

/** What the servers ask of the storage plugins of this machine. */
@Controller()
export class CsiController {
  constructor(
    private readonly controllers: ControllerCalls,
    private readonly nodes: NodeCalls,
  ) {}

  @Answers(csiControllerAttach)
  attach(@Payload() request: ControllerAttachVolumeRequest): Promise<ControllerAttachVolumeResponse> {
    return this.controllers.attach(request);
  }

  @Answers(csiControllerDetach)
  detach(@Payload() request: ControllerDetachVolumeRequest): Promise<null> {
    return this.controllers.detach(request);
  }

  @Answers(csiControllerValidate)
  validate(@Payload() request: ControllerValidateVolumeRequest): Promise<null> {
    return this.controllers.validate(request);
  }

  @Answers(csiControllerCreate)
  create(@Payload() request: ControllerCreateVolumeRequest): Promise<ControllerCreateVolumeResponse> {
    return this.controllers.create(request);
  }

  @Answers(csiControllerDelete)
  delete(@Payload() request: ControllerDeleteVolumeRequest): Promise<null> {
    return this.controllers.delete(request);
  }

  @Answers(csiControllerExpand)
  expand(@Payload() request: ControllerExpandVolumeRequest): Promise<ControllerExpandVolumeResponse> {
    return this.controllers.expand(request);
  }

  @Answers(csiControllerList)
  list(@Payload() request: ControllerListVolumesRequest): Promise<ControllerListVolumesResponse> {
    return this.controllers.list(request);
  }

  @Answers(csiControllerCreateSnapshot)
  createSnapshot(@Payload() request: ControllerCreateSnapshotRequest): Promise<ExternalSnapshot> {
    return this.controllers.createSnapshot(request);
  }

  @Answers(csiControllerDeleteSnapshot)
  deleteSnapshot(@Payload() request: ControllerDeleteSnapshotRequest): Promise<null> {
    return this.controllers.deleteSnapshot(request);
  }

  @Answers(csiControllerListSnapshots)
  listSnapshots(@Payload() request: ControllerListSnapshotsRequest): Promise<ControllerListSnapshotsResponse> {
    return this.controllers.listSnapshots(request);
  }

  @Answers(csiNodeDetach)
  detachFromNode(@Payload() request: NodeDetachVolumeRequest): Promise<null> {
    return this.nodes.detach(request);
  }

  @Answers(csiNodeExpand)
  expandOnNode(@Payload() request: NodeExpandVolumeRequest): Promise<NodeExpandVolumeResponse> {
    return this.nodes.expand(request);
  }
}
