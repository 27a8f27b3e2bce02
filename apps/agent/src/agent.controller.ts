import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import type { AllocCheckStatus } from '@waybill/model';
import {
  allocChecks,
  type AllocChecksRequest,
  type AllocFileInfo,
  type AllocFileRequest,
  type AllocResourceUsage,
  allocStats,
  type AllocStatsRequest,
  Answers,
  collectAllocs,
  type CollectAllocsRequest,
  type HostStats,
  hostStats,
  listFiles,
  type ListFilesRequest,
  type ListFilesResponse,
  readFile,
  type ReadFileRequest,
  type ReadFileResponse,
  readLog,
  type ReadLogRequest,
  type ReadLogResponse,
  restartAlloc,
  type RestartAllocRequest,
  signalAlloc,
  type SignalAllocRequest,
  statFile,
} from '@waybill/rpc';
import { AllocationActions } from './allocations/allocation-actions.js';
import { AllocationFiles } from './allocations/files/allocation-files.js';
import { TaskLogs } from './tasks/logs/task-logs.js';

/** Answers calls to this machine. */
@Controller()
export class AgentController {
  constructor(
    private readonly logs: TaskLogs,
    private readonly files: AllocationFiles,
    private readonly actions: AllocationActions,
  ) {}

  @Answers(readLog)
  readLog(@Payload() request: ReadLogRequest): Promise<ReadLogResponse> {
    return this.logs.readLog(request);
  }

  @Answers(listFiles)
  listFiles(@Payload() request: ListFilesRequest): Promise<ListFilesResponse> {
    return this.files.list(request);
  }

  @Answers(statFile)
  statFile(@Payload() request: AllocFileRequest): Promise<AllocFileInfo> {
    return this.files.stat(request);
  }

  @Answers(readFile)
  readFile(@Payload() request: ReadFileRequest): Promise<ReadFileResponse> {
    return this.files.readPiece(request);
  }

  @Answers(allocStats)
  allocStats(@Payload() request: AllocStatsRequest): Promise<AllocResourceUsage> {
    return this.actions.stats(request);
  }

  @Answers(allocChecks)
  allocChecks(@Payload() request: AllocChecksRequest): Promise<Record<string, AllocCheckStatus>> {
    return this.actions.checks(request);
  }

  @Answers(hostStats)
  hostStats(): Promise<HostStats> {
    return this.actions.hostStats();
  }

  @Answers(restartAlloc)
  restart(@Payload() request: RestartAllocRequest): Promise<null> {
    return this.actions.restart(request);
  }

  @Answers(signalAlloc)
  signal(@Payload() request: SignalAllocRequest): Promise<null> {
    return this.actions.signal(request);
  }

  @Answers(collectAllocs)
  collect(@Payload() request: CollectAllocsRequest): Promise<null> {
    return this.actions.collect(request);
  }
}
