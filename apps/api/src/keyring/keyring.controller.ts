import { All, Controller, Delete, Get, Param, Post, Put, Req, Res } from '@nestjs/common';
import { encodeRootKey } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { TransactionWriter } from '@waybill/writing';
import { Needs } from '../access/needs.decorator.js';
import { anybody, operatorCapability } from '../access/needs.js';
import { ApiError, invalidMethod } from '../http/api-error.js';
import { boolParam } from '../http/query-string.js';
import { listed } from '../http/read-result.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { rotationOf } from './decisions/rotation.js';
import { RootKeyWrites } from './root-key-writes.js';

/** The controller of `/v1/operator/keyring` (OP-211 to OP-213). Answers show only the metadata of keys. */
@Controller('v1/operator/keyring')
export class KeyringController {
  constructor(
    private readonly model: ReadModel,
    private readonly reads: Reads,
    private readonly writes: TransactionWriter,
    private readonly rootKeys: RootKeyWrites,
  ) {}

  @Get('keys')
  @Needs(operatorCapability('keyring-read'))
  keys(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.reads.answer(request, reply, [['root_keys', '*']], () =>
      listed(this.model.keyring.keys(), encodeRootKey),
    );
  }

  @Put('rotate')
  @Needs(operatorCapability('keyring-rotate'))
  rotatePut(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.rotate(request, reply);
  }

  @Post('rotate')
  @Needs(operatorCapability('keyring-rotate'))
  rotatePost(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.rotate(request, reply);
  }

  @Delete('key/:id')
  @Needs(operatorCapability('keyring-delete'))
  async remove(@Param('id') KeyID: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const Force = boolParam(request.query, 'force', badForce) ?? false;
    const Index = await this.rootKeys.remove(KeyID, Force, Requester.of(request).author);
    setWriteIndex(reply, Index);
    sendJson(request, reply, { Index });
  }

  /** Refuses all other paths below this one (OP-211). */
  @All('*')
  @Needs(anybody)
  other(): never {
    throw invalidMethod();
  }

  private async rotate(request: ApiRequest, reply: ApiReply): Promise<void> {
    const rotation = rotationOf(request.query, this.writes.nowMs());
    const { key, index: Index } = await this.rootKeys.rotate(rotation, Requester.of(request).author);
    setWriteIndex(reply, Index);
    sendJson(request, reply, { Key: encodeRootKey(key), Index });
  }
}

const badForce = (): ApiError => new ApiError(422, 'invalid force parameter');
