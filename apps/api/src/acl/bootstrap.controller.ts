import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { open } from '../access/needs.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { BootstrapAccess } from './bootstrap-access.js';
import { FailedAttempts } from './failed-attempts.js';
import { readBootstrapSecret } from './token-request.js';

/**
 * The controller of `/v1/acl/bootstrap`, which makes the first management token. It needs no token and ignores one
 * (OP-143 to OP-146).
 */
@Controller('v1/acl')
export class BootstrapController {
  constructor(
    private readonly access: BootstrapAccess,
    private readonly attempts: FailedAttempts,
  ) {}

  @Put('bootstrap')
  @Needs(open)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.attempts.guard(request, reply, () => this.bootstrap(request, reply));
  }

  @Post('bootstrap')
  @Needs(open)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.attempts.guard(request, reply, () => this.bootstrap(request, reply));
  }

  private async bootstrap(request: ApiRequest, reply: ApiReply): Promise<void> {
    const secret = readBootstrapSecret(request.body);
    const { token, index } = await this.access.bootstrap(secret, Requester.of(request).author);
    setWriteIndex(reply, index);
    sendJson(request, reply, token);
  }
}
