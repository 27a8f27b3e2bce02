import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { Answers, readLog, type ReadLogRequest, type ReadLogResponse } from '@waybill/rpc';
import { TaskLogs } from './task-logs.js';

/** What is asked of one machine. */
@Controller()
export class AgentController {
  constructor(private readonly logs: TaskLogs) {}

  @Answers(readLog)
  readLog(@Payload() request: ReadLogRequest): Promise<ReadLogResponse> {
    return this.logs.read(request);
  }
}
