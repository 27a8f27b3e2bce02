import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import {
  type AllocResourceUsage,
  allocStats,
  type AllocStatsRequest,
  Answers,
  collectAllocs,
  type CollectAllocsRequest,
  type HostStats,
  hostStats,
  readLog,
  type ReadLogRequest,
  type ReadLogResponse,
  restartAlloc,
  type RestartAllocRequest,
  signalAlloc,
  type SignalAllocRequest,
} from '@waybill/rpc';
import { AllocActions } from './alloc-actions.js';
import { TaskLogs } from './task-logs.js';

/** What is asked of one machine. */
@Controller()
export class AgentController {
  constructor(
    private readonly logs: TaskLogs,
    private readonly actions: AllocActions,
  ) {}

  @Answers(readLog)
  readLog(@Payload() request: ReadLogRequest): Promise<ReadLogResponse> {
    return this.logs.read(request);
  }

  @Answers(allocStats)
  allocStats(@Payload() request: AllocStatsRequest): Promise<AllocResourceUsage> {
    return this.actions.stats(request);
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
