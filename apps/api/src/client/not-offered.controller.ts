import { Controller, Get, Post, Put, Req } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { open } from '../access/needs.js';
import { badRequest, enterpriseOnly } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';
import { asObject, stringOf } from '../http/json-members.js';
import type { ApiRequest } from '../http/reply.js';

/** The states that a request may set for a task with a schedule. */
const SCHEDULE_STATES: ReadonlySet<string> = new Set(['pause', 'run', 'scheduled']);

/** The controller of requests about a machine that Waybill does not support. Each answer says why. */
@Controller('v1/client')
export class NotOfferedController {
  @Get('allocation/:id/pause')
  @Needs(open)
  paused(): never {
    throw enterpriseOnly();
  }

  @Put('allocation/:id/pause')
  @Needs(open)
  pausePut(@Req() request: ApiRequest): never {
    return this.pause(request);
  }

  @Post('allocation/:id/pause')
  @Needs(open)
  pausePost(@Req() request: ApiRequest): never {
    return this.pause(request);
  }

  private pause({ body }: ApiRequest): never {
    const state = stringOf(asObject(readJsonBody(body), 'AllocPauseRequest'), 'ScheduleState');
    if (!SCHEDULE_STATES.has(state)) throw badRequest('Not a valid task schedule state');
    throw enterpriseOnly();
  }
}
