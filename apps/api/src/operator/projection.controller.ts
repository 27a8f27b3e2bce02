import { Controller, Get, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { management, operatorRead, operatorWrite } from '../access/needs.js';
import { ReadModel } from '@waybill/projection';
import { BadArchiveError } from '@waybill/model/snapshot-archive';
import { BadRowsError } from '@waybill/state';
import { badRequest } from '../http/api-error.js';
import { ResponseCache } from '../http/response-cache.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { RebuildProjection } from './rebuild-projection.js';

/** The largest number of set-aside rows in an answer. The count is that of all. */
export const MAX_SHOWN_ASIDE = 1_000;

/**
 * The controller of `/v1/operator/projection`: it shows what PostgreSQL refused to store, tries again, and fills a
 * damaged database anew.
 */
@Controller('v1/operator/projection')
export class ProjectionController {
  constructor(
    private readonly model: ReadModel,
    private readonly rebuilding: RebuildProjection,
    private readonly cache: ResponseCache,
  ) {}

  @Get()
  @Needs(operatorRead)
  async readProjection(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { setAside } = this.model;
    const [Index, Count, rows] = await Promise.all([
      this.model.appliedIndex(),
      setAside.count(),
      setAside.list(MAX_SHOWN_ASIDE),
    ]);
    const SetAside = rows.map((row) => ({
      Part: row.part,
      Object: row.object,
      Index: row.index,
      Name: row.txnName,
      Time: row.timeNs,
      SQLState: row.sqlstate,
      Error: row.error,
    }));
    reply.header('X-Nomad-Index', Math.max(1, Index));
    sendJson(request, reply, { Index, Count, SetAside });
  }

  @Put('retry')
  @Needs(operatorWrite)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.retry(request, reply);
  }

  @Post('retry')
  @Needs(operatorWrite)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.retry(request, reply);
  }

  @Put('rebuild')
  @Needs(management)
  putRebuild(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.rebuild(request, reply);
  }

  @Post('rebuild')
  @Needs(management)
  postRebuild(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.rebuild(request, reply);
  }

  /** Rebuilds the database. The body is an archive or empty. */
  private async rebuild(request: ApiRequest, reply: ApiReply): Promise<void> {
    const archive = Buffer.isBuffer(request.body) && request.body.length > 0 ? request.body : undefined;
    try {
      const { index, historyFrom } = await this.rebuilding.rebuild(archive);
      sendJson(request, reply, { Index: index, HistoryFrom: historyFrom });
    } catch (error) {
      if (error instanceof BadArchiveError || error instanceof BadRowsError) throw badRequest(error.message);
      throw error;
    }
  }

  private async retry(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { stored, left } = await this.model.setAside.retry();
    this.cache.clear(); // of lists that lacked these rows, which are no change of the state
    sendJson(request, reply, { Stored: stored, Left: left });
  }
}
