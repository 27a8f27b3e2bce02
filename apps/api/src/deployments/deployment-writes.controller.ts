import { invalidMethod } from '../http/api-error.js';
import { HolderWrites } from '../http/holder-writes.js';
import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { byPart, ofObject } from '../access/needs.js';
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
import { ReadModel } from '@waybill/projection';
import { readJsonBody } from '../http/body.js';
import { sendJson, type ApiReply, type ApiRequest } from '../http/reply.js';
import type { RoutedRequest } from '../http/routed-request.js';
import {
  readAllocHealthRequest,
  readPauseRequest,
  readPromoteRequest,
  readUnblockRequest,
} from './deployment-requests.js';

const ROUTES = ['fail', 'pause', 'promote', 'allocation-health', 'unblock', 'run', 'cancel'].map(
  (action) => `${action}/:id`,
);

/** The needs of each action. Users cannot call `run` and `cancel` (DP-1201). */
const NEEDS = byPart(actionOf, {
  fail: ofObject('submit-job', 'fail-deployment'),
  pause: ofObject('submit-job', 'pause-deployment'),
  promote: ofObject('submit-job', 'promote-deployment'),
  'allocation-health': ofObject('submit-job', 'set-alloc-health-deployment'),
  unblock: ofObject('submit-job', 'unblock-deployment'),
});

/** Returns the action of the route that was found, because the path of a request may be written in other ways. */
function actionOf({ routeOptions }: RoutedRequest): string | undefined {
  return routeOptions.url?.split('/').at(-2);
}

interface Named {
  readonly DeploymentID: string;
  readonly For: OnBehalfOf;
}

/**
 * The controller of `/v1/deployment/{fail,pause,promote,allocation-health,unblock}/:id` by PUT or POST. It forwards the
 * write to the holder of the role (DP-1216).
 */
@Controller('v1/deployment')
export class DeploymentWritesController {
  constructor(
    private readonly writes: HolderWrites,
    private readonly model: ReadModel,
  ) {}

  @Put(ROUTES)
  @Needs(NEEDS)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.write(request, reply);
  }

  @Post(ROUTES)
  @Needs(NEEDS)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.write(request, reply);
  }

  private async write(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { id = '' } = request.params;
    const action = actionOf(request);
    if (action === 'run' || action === 'cancel') throw invalidMethod(); // users cannot call these (DP-1201)
    await request.access.check(async () => (await this.model.deployment(id)).row, 'deployment not found');
    const body = (): unknown => readJsonBody(request.body);
    switch (action) {
      case 'fail': // takes no body and ignores one
        return this.callHolder(failDeployment, { DeploymentID: id }, request, reply);
      case 'pause':
        return this.callHolder(pauseDeployment, { ...readPauseRequest(id, body()), DeploymentID: id }, request, reply);
      case 'promote':
        return this.callHolder(
          promoteDeployment,
          { ...readPromoteRequest(id, body()), DeploymentID: id },
          request,
          reply,
        );
      case 'allocation-health':
        return this.callHolder(
          setDeploymentAllocHealth,
          { ...readAllocHealthRequest(id, body()), DeploymentID: id },
          request,
          reply,
        );
      case 'unblock':
        readUnblockRequest(id, body());
        return this.callHolder(unblockDeployment, { DeploymentID: id }, request, reply);
      default:
        throw invalidMethod();
    }
  }

  /** Answers when reads show what the holder wrote (DP-1206, DP-1803). */
  private async callHolder<Req extends Named>(
    call: Call<Req, DeploymentUpdateResponse>,
    wanted: Omit<Req, 'For'>,
    request: ApiRequest,
    reply: ApiReply,
  ): Promise<void> {
    sendJson(request, reply, await this.writes.callHolder(call, wanted, request, reply));
  }
}
