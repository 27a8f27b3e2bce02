import { type DrainStrategy, formatDuration } from '@waybill/model';
import type { TableName, TableRows } from './tables.js';
import type { Change } from './write.js';

/** Members with the time and index of a write, which say nothing about the change of the object. */
const BOOKKEEPING: ReadonlySet<string> = new Set([
  'CreateIndex',
  'ModifyIndex',
  'ModifyTime',
  'JobModifyIndex',
  'AllocModifyIndex',
  'SnapshotIndex',
  'StatusUpdatedAt',
  'SubmitTime',
]);
/** Changed members that a text without a better description names. */
export const MAX_NAMED_MEMBERS = 5;

/**
 * Describes a transaction's change of an object for people (CL-1023): names and statuses only, never a user's value,
 * and so no secret (CL-1064).
 * @param members names of the members that changed
 */
export function changeText(change: Change, members: readonly string[]): string {
  if (!change.before) return 'created';
  if (!change.after) return 'deleted';
  const said = known(change as Update);
  if (said.length > 0) return said.join(', ');
  const named = members.filter((name) => !BOOKKEEPING.has(name));
  if (named.length === 0) return 'written again';
  const more = named.length > MAX_NAMED_MEMBERS ? ` and ${named.length - MAX_NAMED_MEMBERS} more` : '';
  return `changed ${named.slice(0, MAX_NAMED_MEMBERS).join(', ')}${more}`;
}

const arrow = (what: string, from: unknown, to: unknown): string[] =>
  from === to ? [] : [`${what} ${String(from)} -> ${String(to)}`];
const became = (is: boolean, was: boolean, yes: string, no: string): string[] => (is === was ? [] : [is ? yes : no]);

/** A change of a row that was there before and is there after. */
type Update = { [N in TableName]: Extract<Change, { table: N }> & Record<'before' | 'after', TableRows[N]> }[TableName];

function known(change: Update): string[] {
  switch (change.table) {
    case 'jobs': {
      const { before, after } = change;
      return [
        ...arrow('version', before.Version, after.Version),
        ...became(after.Stop, before.Stop, 'stopped', 'started'),
        ...arrow('status', before.Status, after.Status),
        ...became(after.Stable, before.Stable, 'stable', 'no longer stable'),
      ];
    }
    case 'allocs': {
      const { before, after } = change;
      return [
        ...arrow('desired', before.DesiredStatus, after.DesiredStatus),
        ...arrow('client', before.ClientStatus, after.ClientStatus),
        ...arrow('health', healthOf(before.DeploymentStatus), healthOf(after.DeploymentStatus)),
      ];
    }
    case 'evals':
      return arrow('status', change.before.Status, change.after.Status);
    case 'deployment':
      return arrow('status', change.before.Status, change.after.Status);
    case 'nodes': {
      const { before, after } = change;
      return [
        ...arrow('status', before.Status, after.Status),
        ...arrow('eligibility', before.SchedulingEligibility, after.SchedulingEligibility),
        ...drainText(before.DrainStrategy, after.DrainStrategy),
      ];
    }
    case 'variables': {
      const { before, after } = change;
      const locked = became(after.Lock !== null, before.Lock !== null, 'locked', 'unlocked');
      return locked.length > 0 ? locked : ['items written'];
    }
    default:
      return [];
  }
}

const healthOf = (status: { readonly Healthy: boolean | null } | null): string =>
  status?.Healthy === true ? 'healthy' : status?.Healthy === false ? 'unhealthy' : 'unknown';

function drainText(before: DrainStrategy | null, after: DrainStrategy | null): string[] {
  if (after === null) return before === null ? [] : ['drain off'];
  if (before !== null && before.Deadline === after.Deadline) return [];
  if (after.Deadline < 0) return ['drain on, forced'];
  return [`drain on, ${after.Deadline === 0 ? 'no deadline' : `deadline ${formatDuration(after.Deadline)}`}`];
}
