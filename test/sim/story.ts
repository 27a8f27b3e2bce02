import { rfc3339FromNs } from '@waybill/model';
import type { Applied, Change } from '@waybill/state';
import type { RunPlan } from './run-plan.js';
import type { RunResult } from './simulation.js';

/** Transactions told in a story; what went before is seldom what broke it. */
const LAST_TRANSACTIONS = 40;
/** Rows told of one transaction. */
const MAX_ROWS = 12;

/** A failed run for a person: what does not hold, what was done and broken, and the last transactions. */
export function storyOf(
  plan: RunPlan,
  { failure, clusters, transactions, hash }: RunResult,
  last = LAST_TRANSACTIONS,
): string {
  const lines = [
    `seed ${plan.seed}: ${failure?.message ?? 'nothing is wrong'}`,
    `history ${hash}, ${plan.events.length} actions and faults, ${transactions} transactions`,
    '',
    'what was done and what broke:',
    ...plan.events.map(({ atMs, kind, name, luck }) => `  ${seconds(atMs)}  ${kind} ${name} (${luck})`),
    '',
    ...clusters.flatMap(({ world, log }) => [
      clusters.length === 1 ? 'the last transactions:' : `the last transactions of ${world.region}:`,
      ...log.slice(-last).flatMap(linesOf),
    ]),
  ];
  return lines.join('\n');
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(3).padStart(9)} s`;

function linesOf({ txn, index, verdict, changes }: Applied): string[] {
  const fence = txn.fence ? ` as ${txn.fence.role} of epoch ${txn.fence.epoch}` : '';
  const outcome = verdict.kind === 'accepted' ? '' : ` — ${verdict.kind}${verdict.error ? `: ${verdict.error}` : ''}`;
  const rows = changes.slice(0, MAX_ROWS).map((change) => `      ${rowText(change)}`);
  if (changes.length > MAX_ROWS) rows.push(`      … and ${changes.length - MAX_ROWS} rows`);
  const head = `  #${index} ${rfc3339FromNs(txn.timeNs)?.slice(11, 23)} ${txn.type} by ${txn.actor.Name}${fence}${outcome}`;
  return [head, ...rows];
}

function rowText({ table, key, before, after }: Change): string {
  if (!after) return `${table} ${key} removed`;
  const text = describe(table, after);
  return before ? `${table} ${key}: ${describe(table, before)} → ${text}` : `${table} ${key} new: ${text}`;
}

/** The members that tell what a row of a table is about. */
const TOLD: Readonly<Record<string, readonly string[]>> = {
  evals: ['JobID', 'TriggeredBy', 'Status', 'WaitUntil', 'SnapshotIndex'],
  allocs: ['Name', 'NodeID', 'DesiredStatus', 'ClientStatus', 'DeploymentID'],
  nodes: ['Name', 'Status', 'SchedulingEligibility'],
  jobs: ['Type', 'Version', 'Status', 'Stop'],
  deployment: ['JobID', 'JobVersion', 'Status', 'StatusDescription'],
  leases: ['Epoch', 'Holder'],
};

function describe(table: string, row: object): string {
  const members = new Map<string, unknown>(Object.entries(row));
  return (TOLD[table] ?? [])
    .map((name) => brief(members.get(name)))
    .filter((text) => text !== '')
    .join(' ');
}

/** Ids by their first part: enough to find them again. */
function brief(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /^[0-9a-f]{8}-/.test(text) ? text.slice(0, 8) : text;
}
