import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { Answers, readAgentLog, type ReadAgentLogRequest, type ReadAgentLogResponse } from '@waybill/rpc';
import { LogReaders } from './log-readers.js';

/** OP-82: the log of this machine's agent, asked for by an API. */
@Controller()
export class LogReadersController {
  constructor(private readonly readers: LogReaders) {}

  @Answers(readAgentLog)
  read(@Payload() request: ReadAgentLogRequest): Promise<ReadAgentLogResponse> {
    return this.readers.read(request);
  }
}
