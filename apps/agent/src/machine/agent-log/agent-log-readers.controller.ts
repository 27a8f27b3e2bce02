import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { Answers, readAgentLog, type ReadAgentLogRequest, type ReadAgentLogResponse } from '@waybill/rpc';
import { AgentLogReaders } from './agent-log-readers.js';

/** OP-82: the log of this machine's agent, asked for by an API. */
@Controller()
export class AgentLogReadersController {
  constructor(private readonly readers: AgentLogReaders) {}

  @Answers(readAgentLog)
  readLog(@Payload() request: ReadAgentLogRequest): Promise<ReadAgentLogResponse> {
    return this.readers.readLog(request);
  }
}
