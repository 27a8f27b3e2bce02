import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { anybody, ofObject } from '../access/needs.js';
import {
  type LoggedTxn,
  type LogPage,
  MAX_MATCHES,
  type Namespaces,
  TooManyObjectsError,
  TransactionLog,
} from '@waybill/projection';
import type { ObjectKind } from '@waybill/state';
import { ApiError, badRequest, forbidden, notFound } from '../http/api-error.js';
import { namespacesOf } from '../http/list-params.js';
import { boolParam, fullUuid, param } from '../http/query-string.js';
import type { RequestAccess } from '../access/request-access.js';
import { Reads } from '../http/reads.js';
import { type ApiReply, type ApiRequest, sendJson } from '../http/reply.js';
import { kindOf, type LogRequest, readLogRequest } from './log-request.js';
import { encodedObject } from './object-encoding.js';
import { checkVariable, mayMatchPrefix, mayReadObject, readableNamespaces } from './record-rights.js';
import { TraceReader } from './trace-reader.js';
import { txnRecord } from './txn-record.js';

/** HistoryReads repeats a read at every index, because a transaction that changed nothing is a record too. */
export class HistoryReads extends Reads {}

/** These rows are watched by such a read. Whatever they are, every index wakes the read. */
const EVERYTHING = [['jobs', '*'] as const];

/** The controller of `/v1/waybill/log`, `/v1/waybill/state` and `/v1/waybill/trace` (API-264 to API-269). */
@Controller('v1/waybill')
export class HistoryController {
  constructor(
    private readonly log: TransactionLog,
    private readonly reads: HistoryReads,
    private readonly traces: TraceReader,
  ) {}

  @Get('log')
  @Needs(anybody)
  async list(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const asked = readLogRequest(request.query);
    const { access } = request;
    const kind = asked.kind === 'none' ? undefined : asked.kind;
    const wanted = { ...asked, namespaces: await readableNamespaces(access, kind, asked.namespaces) };
    await this.reads.answer(request, reply, EVERYTHING, async () => {
      const { txns, index, nextIndex, floor } = await this.readPage(wanted, access);
      reply.header('X-Waybill-Log-Floor', floor);
      return {
        index,
        nextToken: nextIndex === 0 ? '' : String(nextIndex),
        value: txns.map((txn) => txnRecord(shownTo(access, txn))),
      };
    });
  }

  /** The job's ID is the rest of the path, because it may contain slashes. */
  @Get('state/:kind/*')
  @Needs(anybody)
  async state(@Param('kind') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const kind = kindOf(given);
    const id = request.params['*'] ?? '';
    const index = indexOf(param(request.query, 'index'));
    const missing = notFound(`no ${given} ${JSON.stringify(id)} at index ${index}`);
    if (kind === 'none') {
      request.access.must({ kind: 'management' });
      throw missing;
    }
    const { access } = request;
    const namespaces = await readableNamespaces(access, kind, namespacesOf(request.query));
    if (kind === 'var') checkVariable(access, namespaces, id);
    const { reached, kept, floor, row } = await this.log.stateAt(kind, namespaces, id, index);
    if (isNamed(kind) && !mayReadObject(access, kind, '', id)) throw forbidden('Permission denied');
    if (!reached) throw badRequest(`index ${index} has not been reached`);
    if (!kept) throw new ApiError(410, `index ${index} is no longer kept (oldest: ${floor})`);
    if (!row) throw missing;
    reply.header('X-Nomad-Index', index);
    sendJson(request, reply, encodedObject(kind, row));
  }

  @Get('trace/evaluation/:id')
  @Needs(ofObject('read-job'))
  async trace(@Param('id') given: string, @Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const id = fullUuid(given, 'eval lookup failed');
    const all = boolParam(request.query, 'allocs') ?? false;
    const query = async () => {
      const { index, floor, trace, namespace } = await this.traces.readTrace(id, all);
      const isShown = request.access.visible(namespace === undefined ? undefined : { Namespace: namespace });
      reply.header('X-Waybill-Log-Floor', floor);
      return { index, value: isShown && trace };
    };
    await this.reads.answerObject(request, reply, EVERYTHING, { query, missing: 'eval not found' });
  }

  private async readPage({ kind, ...wanted }: LogRequest, access: RequestAccess): Promise<LogPage> {
    if (kind === 'var') checkVariable(access, wanted.namespaces, wanted.id);
    const mayMatch = kind === undefined || kind === 'none' || mayMatchPrefix(access, kind);
    const id =
      kind && kind !== 'none' && wanted.id !== undefined && mayMatch
        ? await this.idOf(kind, wanted.namespaces, wanted.id)
        : wanted.id;
    if (kind !== undefined && kind !== 'none' && isNamed(kind) && !mayReadObject(access, kind, '', id ?? ''))
      throw forbidden('Permission denied');
    const nothing = kind === 'none' || (wanted.id !== undefined && id === undefined);
    const query = { ...wanted, id, kind: kind === 'none' ? undefined : kind };
    // An index beyond all others gives an empty page with the floor.
    return this.log.page(nothing ? { ...query, from: Number.MAX_SAFE_INTEGER } : query).catch((error: unknown) => {
      throw error instanceof TooManyObjectsError ? badRequest(error.message) : error;
    });
  }

  /** @throws Refusal invalid if several objects have this prefix */
  private async idOf(kind: ObjectKind, namespaces: Namespaces, given: string): Promise<string | undefined> {
    const ids = await this.log.matching(kind, namespaces, given);
    if (ids.length > 1) throw badRequest(`prefix matched multiple objects: ${ids.slice(0, MAX_MATCHES).join(', ')}`);
    return ids[0];
  }
}

/** Says whether the right to a kind is about the name of the object. */
const isNamed = (kind: ObjectKind): boolean => kind === 'namespace' || kind === 'node-pool';

/** Returns a transaction with the objects that the caller may read; it may have changed others too. */
const shownTo = (access: RequestAccess, txn: LoggedTxn): LoggedTxn => ({
  ...txn,
  objects: txn.objects.filter(({ kind, namespace, id }) => mayReadObject(access, kind, namespace, id)),
});

function indexOf(text: string | undefined): number {
  if (text === undefined || !/^\d{1,15}$/.test(text) || Number(text) < 1) throw badRequest('Invalid index');
  return Number(text);
}
