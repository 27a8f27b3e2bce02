import type { ObjectDiff } from '@waybill/model';
import type { Display } from '../terminal/display.js';
import { JobDiffText } from '../jobs/job-diff-text.js';
import { shortId } from '../terminal/short-id.js';
import { table } from '../terminal/table.js';
import type { Terminal } from '../terminal/terminal.js';
import { absoluteTime } from '../terminal/times.js';

/** A transaction in a response of `/v1/waybill/log` (API-266). */
export interface TxnRecord {
  readonly Index: number;
  readonly Time: number;
  readonly Name: string;
  readonly Actor: { readonly Kind: string; readonly ID: string; readonly Name: string };
  readonly RequestID: string;
  readonly Reason: string;
  readonly TraceID: string;
  readonly SpanID: string;
  readonly Role: string;
  readonly Epoch: number;
  readonly Verdict: 'accepted' | 'noop' | 'refused' | 'void';
  readonly Error: string;
  readonly Objects: readonly ChangedObject[] | null;
}

export interface ChangedObject {
  readonly Kind: string;
  readonly Namespace: string;
  readonly ID: string;
  readonly Op: string;
  readonly Change: string;
  readonly Diff?: ObjectDiff;
}

const HEADER = ['Index', 'Time', 'Transaction', 'Who', 'What', 'Trace'];

/**
 * Formats records as one table, with details below their rows (CL-1021, CL-1024).
 * @param asked the requested kind and ID, if any
 */
export function logTable(
  records: readonly TxnRecord[],
  asked: readonly string[],
  { display, terminal, header }: { display: Display; terminal: Terminal; header: boolean },
): string {
  const rows = records.map((record) => [
    String(record.Index),
    absoluteTime(record.Time),
    record.Name,
    authorOf(record),
    effectOf(record, asked, display),
    shortId(record.TraceID, display.verbose),
  ]);
  const [head = '', ...lines] = table([HEADER, ...rows]).split('\n');
  const blocks = records.map((record, at) =>
    [lines[at] ?? '', ...(display.verbose ? details(record) : []), ...diffs(record, terminal)].join('\n'),
  );
  return [...(header ? [head] : []), ...blocks].join('\n');
}

/** Names the author of a transaction: a holder, a node, `anonymous` or a token, never a secret (CL-1022). */
export function authorOf({ Actor: actor, Role: role, Epoch: epoch }: TxnRecord): string {
  if (role !== '') return `${role}@${epoch}`;
  if (actor.Kind === 'node') return `node:${shortId(actor.ID)}`;
  if (actor.Kind === 'anonymous') return 'anonymous';
  return actor.Name || shortId(actor.ID);
}

/**
 * Describes the effect of a transaction (CL-1023): the change of the requested object, with its ID if only a kind was
 * requested, otherwise a count for each kind.
 */
export function effectOf(
  { Verdict: verdict, Error: error, Objects }: TxnRecord,
  [kind, id]: readonly string[],
  display: Display,
): string {
  if (verdict === 'refused' || verdict === 'void') return `${verdict}: ${error}`;
  const objects = Objects ?? [];
  if (objects.length === 0) return error || (verdict === 'noop' ? 'nothing changed' : 'no object with a history');
  const [only] = objects;
  if (kind !== undefined && only && objects.length === 1)
    return id === undefined && only.ID !== kind ? `${display.idOrName(only.ID)}: ${only.Change}` : only.Change;
  const counts = new Map<string, number>();
  for (const object of objects) counts.set(object.Kind, (counts.get(object.Kind) ?? 0) + 1);
  return [...counts].map(([name, count]) => `${count} ${name}${count === 1 ? '' : 's'}`).join(', ');
}

const details = (record: TxnRecord): string[] =>
  [
    ['reason', record.Reason],
    ['request', record.RequestID],
    ['trace', record.TraceID === '' ? '' : `${record.TraceID} span ${record.SpanID}`],
    ['role', record.Role === '' ? '' : `${record.Role}, epoch ${record.Epoch}`],
  ]
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `    ${name}: ${value}`);

function diffs({ Objects }: TxnRecord, terminal: Terminal): string[] {
  const text = new JobDiffText(terminal, false);
  return (Objects ?? []).flatMap(({ ID, Diff }) =>
    Diff && Diff.Type !== 'None'
      ? [text.of({ Type: Diff.Type, ID, Fields: Diff.Fields, Objects: Diff.Objects, TaskGroups: [] })]
      : [],
  );
}
