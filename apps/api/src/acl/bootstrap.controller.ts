import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { open } from '../access/needs.js';
import { ReadModel } from '@waybill/projection';
import { TransactionWriter } from '@waybill/writing';
import { randomUUID } from 'node:crypto';
import { notFound } from '../http/api-error.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { AccessControl } from './access-control.js';
import { bootstrapOf } from './decisions/bootstrap.js';
import { FailedAttempts } from './failed-attempts.js';
import { TokenAnswers } from './token-answers.js';
import { readBootstrapSecret } from './token-request.js';

/** `/v1/acl/bootstrap`: the first management token. Needs no token and looks at none (OP-143 to OP-146). */
@Controller('v1/acl')
export class BootstrapController {
  constructor(
    private readonly model: ReadModel,
    private readonly writes: TransactionWriter,
    private readonly access: AccessControl,
    private readonly answers: TokenAnswers,
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
    const { secrets, reset } = this.access.on;
    const decision = bootstrapOf(readBootstrapSecret(request.body), {
      doneIndex: await this.model.access.bootstrapIndex(),
      resetIndex: await reset.index(),
      secrets,
      nowMs: this.writes.nowMs(),
      newUuid: randomUUID,
    });
    const { index } = await this.writes.write(decision, Requester.of(request).author);
    const { row } = await this.model.access.token(decision.accessorId);
    if (!row) throw notFound('ACL token not found');
    setWriteIndex(reply, index);
    sendJson(request, reply, await this.answers.whole(row));
  }
}
