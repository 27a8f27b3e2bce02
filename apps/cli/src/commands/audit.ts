import { type AuditRecord, auditTable } from '../access/audit-text.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import { pastTime } from '../flags/flag-time.js';
import { paginationHint } from '../flags/pagination.js';
import type { Answer, Query } from '../server/api-client.js';
import { AnswerFailure } from '../server/api-failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';

const DEFAULT_COUNT = 50;
/** Most records in one response of the server (AU-282). */
const MAX_PER_PAGE = 1_000;
/** The default stage shows each request once, with its response. */
const DEFAULT_STAGE = 'OperationComplete';

type AuditPage = Answer<AuditRecord[] | null>;

/** The command `audit` (AU-282). */
export const command: ServerCommand = {
  usage: '',
  description:
    'Lists requests to the servers with their authors and results, newest first, in all namespaces unless ' +
    '-namespace names one. The audit log of the server must be enabled (WAYBILL_AUDIT_ENABLED).\n\nNeeds a ' +
    'management token.',
  flags: [
    { name: 'since', kind: 'text', value: 'time', help: 'From this time on, or this long ago (2h).' },
    { name: 'until', kind: 'text', value: 'time', help: 'Up to this time, or up to this long ago (2h).' },
    { name: 'accessor', kind: 'text', value: 'id', help: 'Only of this token, or anonymous, invalid, role:<role>.' },
    { name: 'object', kind: 'text', value: 'id', help: 'Only about objects with this ID prefix.' },
    { name: 'operation', kind: 'text', value: 'method', help: 'Only of this HTTP method, or ROLE.' },
    { name: 'status', kind: 'integer', value: 'code', help: 'Only with this status of the response.' },
    { name: 'request', kind: 'text', value: 'id', help: 'Only of this request, or of its transaction.' },
    {
      name: 'stage',
      kind: 'text',
      value: 'stage',
      help: `OperationReceived, OperationComplete, OperationClosed, or * (default ${DEFAULT_STAGE}).`,
    },
    { name: 'n', kind: 'integer', value: 'count', help: `Records wanted (default ${DEFAULT_COUNT}).` },
    { name: 'page-token', kind: 'text', value: 'token', help: 'Token of the page, as printed after the previous one.' },
    ...DATA_FLAGS,
    VERBOSE_FLAG,
  ],
  takes: { min: 0, max: 0, otherwise: 'This command takes no arguments' },
  run,
};

async function run(call: Call): Promise<number> {
  const { terminal, data } = call;
  const pages = await pagesOf(call, Math.max(1, call.flags.integer('n') ?? DEFAULT_COUNT));
  const records = pages.flatMap(({ value }) => value ?? []);
  const exact = pages.flatMap((page) => (Array.isArray(page.exact) ? page.exact : []));
  const nextToken = pages.at(-1)?.nextToken ?? '';
  if (data) {
    data(exact);
    return 0;
  }
  terminal.print(records.length === 0 ? 'No audit records found' : auditTable(records, Display.of(call)));
  if (nextToken !== '') terminal.print(paginationHint(call, nextToken));
  return 0;
}

/** Reads pages until there are enough records. */
async function pagesOf(call: Call, wanted: number): Promise<readonly AuditPage[]> {
  const query = queryOf(call);
  const pages: AuditPage[] = [];
  let [left, token] = [wanted, call.flags.text('page-token')];
  do {
    const page = await readPage(call, { ...query, per_page: Math.min(left, MAX_PER_PAGE), next_token: token });
    pages.push(page);
    left -= page.value?.length ?? 0;
    token = page.nextToken;
  } while (left > 0 && token !== '');
  return pages;
}

function queryOf({ flags, clock }: Call): Query {
  const time = (name: string): string | undefined => {
    const text = flags.text(name);
    return text === undefined ? undefined : pastTime(name, text, clock.nowMs());
  };
  const stage = flags.text('stage') ?? DEFAULT_STAGE;
  return {
    from: time('since'),
    to: time('until'),
    accessor: flags.text('accessor'),
    object: flags.text('object'),
    operation: flags.text('operation'),
    status: flags.integer('status'),
    request: flags.text('request'),
    stage: stage === '*' ? undefined : stage,
  };
}

/** @throws CommandFailure */
async function readPage({ api }: Call, query: Query): Promise<AuditPage> {
  return api.get<AuditRecord[] | null>('/v1/waybill/audit', query).catch((error: unknown) => {
    if (error instanceof AnswerFailure && error.status === 404)
      throw new CommandFailure('The server does not keep an audit log (no Waybill server?)');
    throw failed('querying the audit log', error);
  });
}
