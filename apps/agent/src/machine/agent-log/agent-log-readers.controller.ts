import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { Answers, readAgentLog, type ReadAgentLogRequest, type ReadAgentLogResponse } from '@waybill/rpc';
import { AgentLogReaders } from './agent-log-readers.js';

/** Answers an API that reads the log of this machine's agent (OP-82). */
@Controller()
export class AgentLogReadersController {
  constructor(private readonly readers: AgentLogReaders) {}

  @Answers(readAgentLog)
  readLog(@Payload() request: ReadAgentLogRequest): Promise<ReadAgentLogResponse> {
    return this.readers.readLog(request);
  }
}
