import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { anybody, open } from '../access/needs.js';
import { ONE_TIME_TOKEN_TTL_MS, rfc3339FromMs } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { TransactionWriter } from '@waybill/writing';
import { randomUUID } from 'node:crypto';
import { forbidden } from '../http/api-error.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { AccessControl } from './access-control.js';
import { FailedAttempts } from './failed-attempts.js';
import { TokenAnswers } from './token-answers.js';
import { readOneTimeSecret } from './token-request.js';

/** `/v1/acl/token/onetime`: a token's secret by way of a link that works once (OP-159, AU-241 to AU-244). */
@Controller('v1/acl/token/onetime')
export class OneTimeTokensController {
  constructor(
    private readonly model: ReadModel,
    private readonly writes: TransactionWriter,
    private readonly access: AccessControl,
    private readonly answers: TokenAnswers,
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
    const { AccessorID } = token;
    const OneTimeSecretID = randomUUID();
    const Token = {
      AccessorID,
      OneTimeSecretHash: this.access.on.secrets.hash(OneTimeSecretID),
      ExpiresAt: rfc3339FromMs(this.writes.nowMs() + ONE_TIME_TOKEN_TTL_MS),
    };
    const { index } = await this.writes.write(
      { type: 'OneTimeTokenUpsert', payload: { Token } },
      Requester.of(request).author,
    );
    const { ExpiresAt } = Token;
    const OneTimeToken = { OneTimeSecretID, AccessorID, ExpiresAt, CreateIndex: index, ModifyIndex: index };
    setWriteIndex(reply, index);
    sendJson(request, reply, { OneTimeToken, Index: index });
  }

  /** Needs no token. A secret that is known not to count fills no log; which of several callers wins is decided there. */
  private async exchange(request: ApiRequest, reply: ApiReply): Promise<void> {
    const OneTimeSecretHash = this.access.on.secrets.hash(readOneTimeSecret(request.body).toLowerCase());
    if (!(await this.model.access.oneTimeToken(OneTimeSecretHash))) throw forbidden('Permission denied');
    const { index, result } = await this.writes.write(
      { type: 'OneTimeTokenDelete', payload: { OneTimeSecretHash } },
      Requester.of(request).author,
    );
    const { row } = typeof result === 'string' ? await this.model.access.token(result) : { row: undefined };
    if (!row) throw forbidden('Permission denied'); // deleted in the moment since
    setWriteIndex(reply, index);
    sendJson(request, reply, { Token: await this.answers.whole(row), Index: index });
  }
}
