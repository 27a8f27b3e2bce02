import { rfc3339FromNs } from '@waybill/model';
import type { LogReport } from './log-check.js';
import type { ProjectionReport } from './projection-comparison.js';
import type { StateReport } from './state-comparison.js';

/** Open evaluations shown one by one. */
const MAX_OPEN_SHOWN = 20;

/** A report of `verify log` as a person reads it. */
export function logReportText(report: LogReport): string {
  const { verdicts, evaluations, open, violations, violationCount } = report;
  const lines = [
    report.transactions === 0
      ? 'The log is empty.'
      : `${report.transactions} transactions, index ${report.firstIndex} to ${report.lastIndex}, ` +
        `${rfc3339FromNs(report.fromNs)} to ${rfc3339FromNs(report.untilNs)}`,
    `verdicts     ${counts(verdicts)}`,
    `epochs       ${counts(report.epochs) || 'none'}`,
    `plans        ${report.plans} accepted, ${report.placements} placements`,
    `evaluations  ${counts(evaluations)}, ${open.length} open`,
  ];
  for (const { verdict, type, error, count, firstIndex } of report.rejections)
    lines.push(`${verdict.padEnd(13)}${count} × ${type}: ${error} (first at index ${firstIndex})`);
  for (const e of open.slice(0, MAX_OPEN_SHOWN))
    lines.push(`open         ${e.id} of job ${e.job}, ${e.status}, ${e.triggeredBy}, ${age(e.ageMs)}`);
  if (open.length > MAX_OPEN_SHOWN) lines.push(`open         … and ${open.length - MAX_OPEN_SHOWN} more`);
  lines.push('');
  for (const v of violations) lines.push(`BROKEN ${v.invariant} at index ${v.index}: ${v.subject} ${v.message}`);
  if (violationCount > violations.length) lines.push(`… and ${violationCount - violations.length} violations more`);
  lines.push(violationCount === 0 ? 'All invariants hold.' : `${violationCount} violations.`);
  return `${lines.join('\n')}\n`;
}

/** A report of `verify state` as a person reads it. */
export function stateReportText(report: StateReport): string {
  const lines = [`Log and Postgres at index ${report.index}`];
  for (const { table, rows, differences, examples, tableIndexes } of report.tables) {
    lines.push(
      `${table.padEnd(22)} ${String(rows).padStart(8)} rows  ${differences === 0 && !tableIndexes ? 'equal' : `${differences} DIFFERENT`}`,
    );
    for (const { key, kind, members } of examples)
      lines.push(`  ${kind} ${key}${members.length > 0 ? `: ${members.join(', ')}` : ''}`);
    if (tableIndexes) lines.push(`  table index: the log makes it ${tableIndexes[0]}, Postgres has ${tableIndexes[1]}`);
  }
  if (report.setAside > 0) lines.push(asideText(report.setAside, 'they are compared like all others'));
  lines.push(report.ok ? `Equal: ${report.digests.log}` : 'The projection is not what the log makes.');
  return `${lines.join('\n')}\n`;
}

/** A report of `verify state --rebuild` as a person reads it. */
export function projectionReportText(report: ProjectionReport): string {
  const lines = [
    `The running projection and one made anew, at index ${report.index}, history from ${report.historyFloor}`,
  ];
  for (const { table, rows, rebuiltRows, equal } of report.tables) {
    const said = equal ? 'equal' : `DIFFERENT, rebuilt ${rebuiltRows} rows`;
    lines.push(`${table.padEnd(22)} ${String(rows).padStart(8)} rows  ${said}`);
  }
  if (report.setAside > 0)
    lines.push(asideText(report.setAside, 'their tables cannot be compared until a retry has stored them'));
  lines.push(report.ok ? 'Equal.' : 'The projection is not what the log makes.');
  return `${lines.join('\n')}\n`;
}

const asideText = (rows: number, consequence: string): string =>
  `${rows} rows are set aside, because PostgreSQL refuses them (waybill operator projection status): ${consequence}.`;

const counts = (of: Readonly<Record<string, number>>): string =>
  Object.entries(of)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ');

function age(ms: number): string {
  return ms < 0 ? `due in ${Math.round(-ms / 1000)} s` : `for ${Math.round(ms / 1000)} s`;
}
