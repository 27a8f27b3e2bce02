import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import {
  Answers,
  execEnd,
  type ExecEndRequest,
  execRead,
  type ExecReadRequest,
  type ExecReadResponse,
  execStart,
  type ExecStartRequest,
  type ExecStartResponse,
  execWrite,
  type ExecWriteRequest,
} from '@waybill/rpc';
import { RemoteExec } from './remote-exec.js';

/** Answers calls about commands that run in tasks of this machine. */
@Controller()
export class ExecController {
  constructor(private readonly sessions: RemoteExec) {}

  @Answers(execStart)
  start(@Payload() request: ExecStartRequest): Promise<ExecStartResponse> {
    return this.sessions.start(request);
  }

  @Answers(execRead)
  readOutput(@Payload() request: ExecReadRequest): Promise<ExecReadResponse> {
    return this.sessions.readOutput(request);
  }

  @Answers(execWrite)
  write(@Payload() request: ExecWriteRequest): Promise<null> {
    return this.sessions.write(request);
  }

  @Answers(execEnd)
  end(@Payload() { SessionID }: ExecEndRequest): Promise<null> {
    return this.sessions.end(SessionID);
  }
}
