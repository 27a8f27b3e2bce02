import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { management } from '../access/needs.js';
import { badRequest } from '../http/api-error.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { AccessControl } from './access-control.js';
import { Rekeying } from './rekeying.js';

/** The controller of `/v1/waybill/acl/rekey`, which stores all secrets under the present key of access control. */
@Controller('v1/waybill/acl/rekey')
export class RekeyingController {
  constructor(
    private readonly rekeying: Rekeying,
    private readonly access: AccessControl,
  ) {}

  @Put()
  @Needs(management)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.rekey(request, reply);
  }

  @Post()
  @Needs(management)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.rekey(request, reply);
  }

  private async rekey(request: ApiRequest, reply: ApiReply): Promise<void> {
    if (!this.access.isOn) throw badRequest('ACL support disabled');
    sendJson(request, reply, await this.rekeying.run(Requester.of(request).author));
  }
}
