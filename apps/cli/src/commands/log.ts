import { headerText, type Query } from '../server/api-client.js';
import { AnswerFailure } from '../server/api-failure.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { DATA_FLAGS, type DataPrinter } from '../terminal/data-printer.js';
import { type ExactJson, formatExact } from '../terminal/exact-json.js';
import { CommandFailure, failed, isInterrupt } from '../failure.js';
import { pastTime } from '../flags/flag-time.js';
import { type LogPage, readLog, withoutLog } from '../history/log-query.js';
import { nearestWord } from '../nearest-word.js';
import { redactHistory, REDACTION_FLAGS } from '../history/redaction.js';
import { logTable, type TxnRecord } from '../history/log-record.js';
import { paginationHint } from '../flags/pagination.js';
import { retriedRead } from '../server/retried-read.js';

const DEFAULT_COUNT = 50;
/** Most records in one response of the server (API-264). */
const MAX_PER_PAGE = 1_000;

/** Kinds of objects that have a history (API-265). */
const KINDS = [
  'job',
  'alloc',
  'eval',
  'deployment',
  'node',
  'volume',
  'host-volume',
  'plugin',
  'namespace',
  'node-pool',
  'scheduler-config',
];

/** Shows the transactions of an object or of the whole log, or an object at an index (CL-1021 to CL-1029). */
export const command: ServerCommand = {
  usage: '[<kind> [<id>]]',
  description:
    'Lists the transactions about an object, or all transactions, with time, author and trace, including refused ones. Kinds: ' +
    `${KINDS.join(' ')}. A prefix of an ID is enough, also for a deleted object.` +
    '\n\nWith -redact it removes a secret that somebody wrote into a job file: it replaces the value in the state and ' +
    'its history, saves an archive, and erases the log and the events before. Change the secret too.' +
    '\n\nNeeds read access to the object; without a kind, and for -redact: a management token.',
  flags: [
    { name: 'since', kind: 'text', value: 'time', help: 'From this time on, or this long ago (2h).' },
    { name: 'until', kind: 'text', value: 'time', help: 'Up to this time, or up to this long ago (2h).' },
    { name: 'from', kind: 'integer', value: 'index', help: 'From this index on.' },
    { name: 'to', kind: 'integer', value: 'index', help: 'Up to this index.' },
    { name: 'type', kind: 'list', value: 'transaction', help: 'Only transactions of this type.' },
    { name: 'actor', kind: 'text', value: 'text', help: 'Only of this accessor or name, or a prefix of it.' },
    { name: 'request', kind: 'text', value: 'id', help: 'Only of this request.' },
    { name: 'trace', kind: 'text', value: 'id', help: 'Only of this trace.' },
    { name: 'n', kind: 'integer', value: 'count', help: `Rows wanted (default ${DEFAULT_COUNT}).` },
    { name: 'page-token', kind: 'text', value: 'token', help: 'Token of the page, as printed after the previous one.' },
    { name: 'reverse', kind: 'switch', help: 'Oldest first.' },
    { name: 'diff', kind: 'switch', help: 'Show the changes below each row.' },
    { name: 'at', kind: 'integer', value: 'index', help: 'Print the object as it was after that index.' },
    { name: 'related', kind: 'switch', help: 'Show its evaluations, allocations and deployments too.' },
    { name: 'f', kind: 'switch', help: 'Follow new transactions.' },
    ...REDACTION_FLAGS,
    ...DATA_FLAGS,
    VERBOSE_FLAG,
  ],
  takes: { min: 0, max: 2, otherwise: 'This command takes up to two arguments: [<kind> [<id>]]' },
  run: (call) =>
    call.flags.given('redact')
      ? redactHistory(call)
      : withKnownKind(call, () => (call.flags.given('at') ? printState(call) : printLog(call))),
};

/** Runs the query. If it fails because the server does not know the kind either, a similar kind is suggested. */
async function withKnownKind(call: Call, run: () => Promise<number>): Promise<number> {
  const [kind = 'job'] = call.args;
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof CommandFailure) || KINDS.includes(kind)) throw error;
    const near = await nearestWord(kind, KINDS);
    const meant = near === undefined ? `Kinds: ${KINDS.join(' ')}` : `Did you mean "${near}"?`;
    throw new CommandFailure(`${error.message}\n${meant}`);
  }
}

async function printLog(call: Call): Promise<number> {
  const { flags, terminal } = call;
  const [first, ...others] = await pagesOf(call, Math.max(1, flags.integer('n') ?? DEFAULT_COUNT));
  const last = others.at(-1) ?? first;
  const records = [first, ...others].flatMap(({ value }) => value ?? []);
  const exact = [first, ...others].flatMap((page) => (Array.isArray(page.exact) ? page.exact : []));
  if (call.data) printRecords(call, call.data, exact);
  else if (records.length === 0) terminal.print('No transactions found');
  else terminal.print(textOf(call, records, true));
  if (last.nextToken !== '' && !call.data) terminal.print(paginationHint(call, last.nextToken));
  const floor = floorOf(last);
  if (floor > 1 && last.nextToken === '') terminal.warn(`History before index ${floor} is no longer kept`);
  if (flags.on('f')) await follow(call, first.index);
  return 0;
}

/** Reads pages until there are enough records, at least one page. */
async function pagesOf(call: Call, wanted: number): Promise<readonly [LogPage, ...LogPage[]]> {
  const query = queryOf(call);
  let left = wanted;
  const next = async (token: string | undefined): Promise<LogPage> => {
    const page = await readLog(call.api, { ...query, per_page: Math.min(left, MAX_PER_PAGE), next_token: token });
    left -= page.value?.length ?? 0;
    return page;
  };
  const first = await next(call.flags.text('page-token'));
  const others: LogPage[] = [];
  for (let page = first; left > 0 && page.nextToken !== ''; others.push(page)) page = await next(page.nextToken);
  return [first, ...others];
}

/** Follows new records after an index until Ctrl-C, and retries while the server cannot be reached. */
async function follow(call: Call, from: number): Promise<void> {
  const { terminal } = call;
  let index = from;
  try {
    for (;;) {
      const asked = { ...queryOf(call), reverse: true, from: index + 1, per_page: MAX_PER_PAGE };
      const blocking = index;
      const page = await retriedRead('the log', call, () => readLog(call.api, { ...asked, index: blocking }));
      const records = page.value ?? [];
      if (records.length === 0) continue;
      if (call.data) printRecords(call, call.data, Array.isArray(page.exact) ? page.exact : []);
      else terminal.print(textOf(call, records, false));
      index = records.reduce((highest, record) => Math.max(highest, record.Index), index);
    }
  } catch (error) {
    if (!isInterrupt(error)) throw error;
  }
}

function queryOf({ flags, args, clock }: Call): Query {
  const [kind, id] = args;
  const time = (name: string): string | undefined => {
    const text = flags.text(name);
    return text === undefined ? undefined : pastTime(name, text, clock.nowMs());
  };
  return {
    kind,
    id,
    since: time('since'),
    until: time('until'),
    from: flags.integer('from'),
    to: flags.integer('to'),
    type: flags.list('type'),
    actor: flags.text('actor'),
    request: flags.text('request'),
    trace: flags.text('trace'),
    reverse: flags.on('reverse') || undefined,
    diff: flags.on('diff') || undefined,
    related: flags.on('related') || undefined,
  };
}

/** Prints an object at an index. The full ID comes from the log (CL-1026). */
async function printState(call: Call): Promise<number> {
  const { api, flags, terminal, args } = call;
  const [kind, given] = args;
  const index = flags.integer('at') ?? 0;
  if (kind === undefined || (given === undefined && kind !== 'scheduler-config'))
    throw new CommandFailure('-at needs a kind and an ID');
  const newest = await readLog(call.api, { kind, id: given, per_page: 1 });
  const found = newest.value?.[0]?.Objects?.find((object) => object.Kind === kind);
  const id = found?.ID ?? given ?? kind;
  const path = `/v1/waybill/state/${kind}/${encodeURIComponent(id)}`;
  const answer = await api.get<object>(path, { index }).catch((error: unknown) => {
    if (error instanceof AnswerFailure && error.status === 404 && error.body !== '')
      throw new CommandFailure(`No ${kind} "${id}" at index ${index}`);
    throw withoutLog(error) ?? failed(`querying ${kind}`, error);
  });
  terminal.print(formatExact(answer.exact));
  return 0;
}

const textOf = (call: Call, records: readonly TxnRecord[], header: boolean): string =>
  logTable(records, call.args, { display: Display.of(call), terminal: call.terminal, header });

/** Prints records as data. With -f, each line is one JSON object, so that another program can follow. */
function printRecords({ flags, terminal }: Call, data: DataPrinter, records: ExactJson[]): void {
  if (!flags.on('f') || flags.given('t')) data(records);
  else terminal.print(records.map((record) => formatExact(record, 0)).join('\n'));
}

const floorOf = (page: LogPage): number => Number(headerText(page.headers, 'x-waybill-log-floor'));
