import { randomUUID } from 'node:crypto';
import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import { Keyring } from '@waybill/keyring';
import { Needs } from '../access/needs.decorator.js';
import { nodeWrite } from '../access/needs.js';
import { ApiCore } from '../api-core.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { introductionClaims } from './decisions/introduction.js';
import { readIntroduction } from './introduction-request.js';

/**
 * The controller of tokens by which new machines register (AU-200). The answer is the only place where a token exists:
 * nothing is stored until a machine uses it.
 */
@Controller('v1/acl/identity/client-introduction-token')
export class IntroductionTokensController {
  constructor(
    private readonly core: ApiCore,
    private readonly keyring: Keyring,
  ) {}

  @Put()
  @Needs(nodeWrite)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.make(request, reply);
  }

  @Post()
  @Needs(nodeWrite)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.make(request, reply);
  }

  private async make(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { settings, clock, logger } = this.core.context;
    const { claims, isShortened } = introductionClaims(readIntroduction(request.body), {
      region: settings.WAYBILL_REGION,
      issuer: settings.WAYBILL_OIDC_ISSUER,
      defaultTtlNs: settings.WAYBILL_CLIENT_INTRODUCTION_DEFAULT_TTL,
      maxTtlNs: settings.WAYBILL_CLIENT_INTRODUCTION_MAX_TTL,
      nowMs: clock.nowMs(),
      newId: randomUUID,
    });
    if (isShortened)
      logger.warn('an introduction token was made with a shorter life than requested', { subject: claims.sub });
    sendJson(request, reply, { JWT: await this.keyring.signJwt(undefined, claims) });
  }
}
