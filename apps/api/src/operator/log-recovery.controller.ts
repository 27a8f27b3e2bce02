import { Controller, Get, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { management, operatorRead } from '../access/needs.js';
import { BadArchiveError } from '@waybill/model/snapshot-archive';
import { ProjectionFeed } from '@waybill/projection';
import { BadRowsError } from '@waybill/state';
import { badRequest, serverFailure } from '../http/api-error.js';
import { txnRecord } from '../history/txn-record.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { type LogComparison, LogRecovery, type Recovered } from './log-recovery.js';
import { RESTORE_TIMEOUT_MS } from './restore-snapshot.js';

/** The controller of `/v1/operator/log`, which decides about a log that lost its end (docs/power-cuts.md). */
@Controller('v1/operator/log')
export class LogRecoveryController {
  constructor(
    private readonly recovery: LogRecovery,
    private readonly feed: ProjectionFeed,
  ) {}

  @Get('status')
  @Needs(operatorRead)
  async status(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    sendJson(request, reply, statusOf(await this.recovery.status()));
  }

  @Put('adopt')
  @Needs(management)
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.adopt(request, reply);
  }

  @Post('adopt')
  @Needs(management)
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.adopt(request, reply);
  }

  @Put('restore')
  @Needs(management)
  putArchive(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.restore(request, reply);
  }

  @Post('restore')
  @Needs(management)
  postArchive(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.restore(request, reply);
  }

  private async adopt(request: ApiRequest, reply: ApiReply): Promise<void> {
    await this.sendRecovered(request, reply, await this.recovery.adopt(Requester.of(request)));
  }

  private async restore(request: ApiRequest, reply: ApiReply): Promise<void> {
    if (!Buffer.isBuffer(request.body)) throw badRequest('the archive is missing');
    try {
      await this.sendRecovered(request, reply, await this.recovery.restore(request.body, Requester.of(request)));
    } catch (error) {
      if (error instanceof BadArchiveError || error instanceof BadRowsError) throw badRequest(error.message);
      throw error;
    }
  }

  /** Answers when the new history can be read. */
  private async sendRecovered(request: ApiRequest, reply: ApiReply, { index, found }: Recovered): Promise<void> {
    await this.feed.waitFor(index, RESTORE_TIMEOUT_MS).catch(() => {
      throw serverFailure(`the new history is written as index ${index}, but the read model has not reached it`);
    });
    setWriteIndex(reply, index);
    sendJson(request, reply, { ...statusOf(found), Index: index });
  }
}

const statusOf = ({ log, applied, common, events, divergence, historyIndex, lost, lostCount }: LogComparison) => ({
  LogFirst: log.first,
  LogLast: log.last,
  AppliedIndex: applied,
  CommonIndex: common,
  EventsIndex: events,
  HistoryIndex: historyIndex,
  Divergence: divergence ?? '',
  LostCount: lostCount,
  Lost: lost.map(txnRecord),
});
