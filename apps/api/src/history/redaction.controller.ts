import { Controller, Post, Put, Req, Res } from '@nestjs/common';
import { wire } from '@waybill/model';
import { TooManyTextsError } from '@waybill/projection';
import { Needs } from '../access/needs.decorator.js';
import { management } from '../access/needs.js';
import { badRequest } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { RedactHistory } from './redact-history.js';
import { SecretText } from './secret-text.js';

interface RedactionRequest {
  Value: string;
  DryRun: boolean;
}

const REQUEST: wire.Shape<RedactionRequest> = {
  name: 'HistoryRedactionRequest',
  fields: { Value: wire.string(), DryRun: wire.boolean() },
};

/** The controller of `/v1/waybill/redaction`: removes a value from the history (docs/secrets.md). */
@Controller('v1/waybill/redaction')
export class RedactionController {
  constructor(private readonly redacting: RedactHistory) {}

  @Put()
  @Needs(management)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.redact(request, reply);
  }

  @Post()
  @Needs(management)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.redact(request, reply);
  }

  @Put('erase')
  @Needs(management)
  putErase(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.erase(request, reply);
  }

  @Post('erase')
  @Needs(management)
  postErase(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.erase(request, reply);
  }

  private async redact(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { Value, DryRun } = wire.decodeShape(REQUEST, readJsonBody(request.body));
    const secret = new SecretText(Value);
    try {
      const done = await (DryRun ? this.redacting.find(secret) : this.redacting.redact(secret, Requester.of(request)));
      if (done.Index > 0) setWriteIndex(reply, done.Index);
      sendJson(request, reply, done);
    } catch (error) {
      throw error instanceof TooManyTextsError ? badRequest(error.message) : error;
    }
  }

  private async erase(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { Value } = wire.decodeShape(REQUEST, readJsonBody(request.body));
    const erased = await this.redacting.erase(new SecretText(Value), Requester.of(request));
    setWriteIndex(reply, erased.Index);
    sendJson(request, reply, erased);
  }
}
