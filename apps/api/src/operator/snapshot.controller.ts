import { Controller, Get, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { management, operatorCapability } from '../access/needs.js';
import { sha256 } from '@waybill/model/snapshot-archive';
import { badRequest } from '../http/api-error.js';
import { PACKED } from '../http/content-coding.js';
import { type ApiReply, type ApiRequest, sendEmpty, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { RestoreSnapshot } from './restore-snapshot.js';
import { SaveSnapshot } from './save-snapshot.store.js';

/** The controller of `/v1/operator/snapshot`, which saves and restores the whole state (operator.md section 3). */
@Controller('v1/operator/snapshot')
export class SnapshotController {
  constructor(
    private readonly saving: SaveSnapshot,
    private readonly restoring: RestoreSnapshot,
  ) {}

  /**
   * Returns an archive of the state (OP-40). Any instance answers, with or without `stale`: all read the same
   * PostgreSQL.
   */
  @Get()
  @Needs(operatorCapability('snapshot-save'))
  async save(@Res() reply: ApiReply): Promise<void> {
    const bytes = await this.saving.save();
    reply
      .code(200)
      .header('Content-Type', PACKED)
      .header('Digest', `sha-256=${sha256(bytes, 'base64')}`)
      .send(bytes);
  }

  @Put()
  @Needs(management)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.restore(request, reply);
  }

  @Post()
  @Needs(management)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.restore(request, reply);
  }

  private async restore(request: ApiRequest, reply: ApiReply): Promise<void> {
    if (!Buffer.isBuffer(request.body)) throw badRequest('the archive is missing');
    setWriteIndex(reply, await this.restoring.restore(request.body, Requester.of(request)));
    sendEmpty(reply);
  }
}
