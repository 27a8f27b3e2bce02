import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  Answers,
  allocsById,
  type AllocsByIdRequest,
  type AllocsByIdResponse,
  type ListFilesResponse,
  listPreviousDisk,
  type ListPreviousDiskRequest,
  nodeAllocs,
  type NodeAllocsRequest,
  type NodeAllocsResponse,
  type ReadFileResponse,
  readPreviousDisk,
  type ReadPreviousDiskRequest,
  RpcContext,
  updateAllocs,
  type AllocUpdateRequest,
  type AllocUpdateResponse,
} from '@waybill/rpc';
import { MachineCredentialPipe } from '@waybill/service';
import { AllocQueries } from './alloc-queries.js';
import { AllocUpdates } from './alloc-updates.js';
import { PreviousDisks } from './previous-disks.js';

/** Answers calls of agents about their allocations: which ones they run, how those do, and the disks of earlier ones. */
@Controller()
export class AllocationsController {
  constructor(
    private readonly queries: AllocQueries,
    private readonly updates: AllocUpdates,
    private readonly disks: PreviousDisks,
  ) {}

  @Answers(nodeAllocs)
  nodeAllocs(@Payload(MachineCredentialPipe) request: NodeAllocsRequest): Promise<NodeAllocsResponse> {
    return this.queries.nodeAllocs(request);
  }

  @Answers(allocsById)
  allocsById(@Payload(MachineCredentialPipe) request: AllocsByIdRequest): Promise<AllocsByIdResponse> {
    return this.queries.allocsById(request);
  }

  @Answers(updateAllocs)
  updateAllocs(
    @Payload(MachineCredentialPipe) request: AllocUpdateRequest,
    @Ctx() context: RpcContext,
  ): Promise<AllocUpdateResponse> {
    return this.updates.update(request, context.traceparent);
  }

  @Answers(listPreviousDisk)
  listPreviousDisk(@Payload(MachineCredentialPipe) request: ListPreviousDiskRequest): Promise<ListFilesResponse> {
    return this.disks.list(request);
  }

  @Answers(readPreviousDisk)
  readPreviousDisk(@Payload(MachineCredentialPipe) request: ReadPreviousDiskRequest): Promise<ReadFileResponse> {
    return this.disks.readFile(request);
  }
}
