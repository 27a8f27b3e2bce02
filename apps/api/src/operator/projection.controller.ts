import { Controller, Get, Post, Put, Req, Res } from '@nestjs/common';
import { ReadModel } from '@waybill/projection';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';

/** Rows shown of those that are set aside; the count says how many there are. */
export const MAX_SHOWN_ASIDE = 1_000;

/** `/v1/operator/projection`: what PostgreSQL refused to store, and trying again. */
@Controller('v1/operator/projection')
export class ProjectionController {
  constructor(private readonly model: ReadModel) {}

  @Get()
  async read(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
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
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.retry(request, reply);
  }

  @Post('retry')
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.retry(request, reply);
  }

  private async retry(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { stored, left } = await this.model.setAside.retry();
    sendJson(request, reply, { Stored: stored, Left: left });
  }
}
