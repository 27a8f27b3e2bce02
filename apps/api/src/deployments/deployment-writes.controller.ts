import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import {
  failDeployment,
  pauseDeployment,
  promoteDeployment,
  setDeploymentAllocHealth,
  unblockDeployment,
  type Call,
  type DeploymentUpdateResponse,
  type OnBehalfOf,
} from '@waybill/rpc';
import { ApiError } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';
import { HeldCalls } from '../http/held-calls.js';
import { pathOf } from '../http/path.js';
import { sendJson, setWriteIndex, type ApiReply, type ApiRequest } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { Writer } from '../writer.js';
import {
  readAllocHealthRequest,
  readPauseRequest,
  readPromoteRequest,
  readUnblockRequest,
} from './deployment-requests.js';

const ROUTES = ['fail', 'pause', 'promote', 'allocation-health', 'unblock', 'run', 'cancel'].map(
  (action) => `${action}/:id`,
);

interface Named {
  readonly DeploymentID: string;
  readonly For: OnBehalfOf;
}

/** `/v1/deployment/{fail,pause,promote,allocation-health,unblock}/:id` by PUT or POST: passed on to the holder of the role (DP-1216). */
@Controller('v1/deployment')
export class DeploymentWritesController {
  constructor(
    private readonly calls: HeldCalls,
    private readonly writer: Writer,
  ) {}

  @Put(ROUTES)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.write(request, reply);
  }

  @Post(ROUTES)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.write(request, reply);
  }

  private async write(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { id = '' } = request.params;
    const body = (): unknown => readJsonBody(request.body);
    switch (pathOf(request.url).split('/').at(-2)) {
      case 'fail': // takes no body and ignores one
        return this.ask(failDeployment, id, {}, request, reply);
      case 'pause':
        return this.ask(pauseDeployment, id, readPauseRequest(id, body()), request, reply);
      case 'promote':
        return this.ask(promoteDeployment, id, readPromoteRequest(id, body()), request, reply);
      case 'allocation-health':
        return this.ask(setDeploymentAllocHealth, id, readAllocHealthRequest(id, body()), request, reply);
      case 'unblock':
        readUnblockRequest(id, body());
        return this.ask(unblockDeployment, id, {}, request, reply);
      default: // DP-1201: run and cancel are not for users
        throw new ApiError(405, 'Invalid method');
    }
  }

  /** Answers once what the holder wrote can be read (DP-1206, DP-1803). */
  private async ask<Req extends Named>(
    call: Call<Req, DeploymentUpdateResponse>,
    id: string,
    wanted: Omit<Req, keyof Named>,
    request: ApiRequest,
    reply: ApiReply,
  ): Promise<void> {
    const { onBehalf: For, traceparent } = Requester.of(request);
    // `Omit` of a type parameter is not put together again by the compiler.
    const asked = { ...wanted, DeploymentID: id, For } as Req;
    const answer = await this.calls.ask(call, asked, { traceparent });
    await this.writer.readable(answer.Index);
    setWriteIndex(reply, answer.Index);
    sendJson(request, reply, answer);
  }
}
