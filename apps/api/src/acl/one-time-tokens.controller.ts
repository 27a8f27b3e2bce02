import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { anybody, open } from '../access/needs.js';
import { forbidden } from '../http/api-error.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { FailedAttempts } from './failed-attempts.js';
import { OneTimeTokens } from './one-time-tokens.js';
import { readOneTimeSecret } from './token-request.js';

/**
 * The controller of `/v1/acl/token/onetime`, which hands over a token's secret by a link that works once (OP-159,
 * AU-241 to AU-244).
 */
@Controller('v1/acl/token/onetime')
export class OneTimeTokensController {
  constructor(
    private readonly tokens: OneTimeTokens,
    private readonly attempts: FailedAttempts,
  ) {}

  @Put()
  @Needs(anybody)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.make(request, reply);
  }

  @Post()
  @Needs(anybody)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.make(request, reply);
  }

  @Put('exchange')
  @Needs(open)
  putExchange(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.attempts.guard(request, reply, () => this.exchange(request, reply));
  }

  @Post('exchange')
  @Needs(open)
  postExchange(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.attempts.guard(request, reply, () => this.exchange(request, reply));
  }

  private async make(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { token } = request.access.caller;
    if (!token) throw forbidden('Permission denied');
    const OneTimeToken = await this.tokens.create(token, Requester.of(request).author);
    const { ModifyIndex: Index } = OneTimeToken;
    setWriteIndex(reply, Index);
    sendJson(request, reply, { OneTimeToken, Index });
  }

  /** Exchanges a one-time secret. It needs no token. */
  private async exchange(request: ApiRequest, reply: ApiReply): Promise<void> {
    const secret = readOneTimeSecret(request.body);
    const { token, index } = await this.tokens.exchange(secret, Requester.of(request).author);
    setWriteIndex(reply, index);
    sendJson(request, reply, { Token: token, Index: index });
  }
}
