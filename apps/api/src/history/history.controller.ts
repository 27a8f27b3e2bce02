import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { type LogPage, MAX_MATCHES, type Namespaces, TooManyObjectsError, TransactionLog } from '@waybill/projection';
import type { ObjectKind } from '@waybill/state';
import { ApiError, badRequest, notFound } from '../http/api-error.js';
import { namespacesOf } from '../http/list-params.js';
import { boolParam, fullUuid, param } from '../http/query-string.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { kindOf, type LogRequest, readLogRequest } from './log-request.js';
import { encodedObject } from './object-encoding.js';
import { TraceReader } from './trace-reader.js';
import { txnRecord } from './txn-record.js';

/** Reads that look again at every index: a transaction that changed nothing is a record too. */
export class HistoryReads extends Reads {}

/** What such a read watches: whatever it is, it is woken at every index. */
const EVERYTHING = [['jobs', '*'] as const];

/** `/v1/waybill/log`, `/v1/waybill/state`, `/v1/waybill/trace` (API-264 to API-269). */
@Controller('v1/waybill')
export class HistoryController {
  constructor(
    private readonly log: TransactionLog,
    private readonly reads: HistoryReads,
    private readonly traces: TraceReader,
  ) {}

  @Get('log')
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const wanted = readLogRequest(request.query);
    await this.reads.answer(request, reply, EVERYTHING, async () => {
      const { txns, index, nextIndex, floor } = await this.page(wanted);
      reply.header('X-Waybill-Log-Floor', floor);
      return { index, nextToken: nextIndex === 0 ? '' : String(nextIndex), value: txns.map(txnRecord) };
    });
  }

  /** A job's ID may have slashes, so it is what is left of the path. */
  @Get('state/:kind/*')
  async state(@Param('kind') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const kind = kindOf(given);
    const id = request.params['*'] ?? '';
    const index = indexOf(param(request.query, 'index'));
    const missing = notFound(`no ${given} ${JSON.stringify(id)} at index ${index}`);
    if (kind === 'none') throw missing;
    const namespaces = namespacesOf(request.query);
    const { reached, kept, floor, row } = await this.log.stateAt(kind, namespaces, id, index);
    if (!reached) throw badRequest(`index ${index} has not been reached`);
    if (!kept) throw new ApiError(410, `index ${index} is no longer kept (oldest: ${floor})`);
    if (!row) throw missing;
    reply.header('X-Nomad-Index', index);
    sendJson(request, reply, encodedObject(kind, row));
  }

  @Get('trace/evaluation/:id')
  async trace(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = fullUuid(given, 'eval lookup failed');
    const all = boolParam(request.query, 'allocs') ?? false;
    const query = async () => {
      const { index, floor, trace } = await this.traces.read(id, all);
      reply.header('X-Waybill-Log-Floor', floor);
      return { index, value: trace };
    };
    await this.reads.answer(request, reply, EVERYTHING, query, 'eval not found');
  }

  private async page({ kind, ...wanted }: LogRequest): Promise<LogPage> {
    const id =
      kind && kind !== 'none' && wanted.id !== undefined
        ? await this.idOf(kind, wanted.namespaces, wanted.id)
        : undefined;
    const nothing = kind === 'none' || (wanted.id !== undefined && id === undefined);
    const query = { ...wanted, id, kind: kind === 'none' ? undefined : kind };
    // Beyond every index: an empty page, with the floor.
    return this.log.page(nothing ? { ...query, from: Number.MAX_SAFE_INTEGER } : query).catch((error: unknown) => {
      throw error instanceof TooManyObjectsError ? badRequest(error.message) : error;
    });
  }

  /** @throws Refusal invalid: several objects have this prefix */
  private async idOf(kind: ObjectKind, namespaces: Namespaces, given: string): Promise<string | undefined> {
    const ids = await this.log.matching(kind, namespaces, given);
    if (ids.length > 1) throw badRequest(`prefix matched multiple objects: ${ids.slice(0, MAX_MATCHES).join(', ')}`);
    return ids[0];
  }
}

function indexOf(text: string | undefined): number {
  if (text === undefined || !/^\d{1,15}$/.test(text) || Number(text) < 1) throw badRequest('Invalid index');
  return Number(text);
}
