import type { AllocCheckStatus } from '@waybill/model';
import type { Call, ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { failed } from '../failure.js';
import { readAllocation } from '../allocations/read-allocation.js';
import { table } from '../terminal/table.js';
import { rfc3339 } from '../terminal/times.js';

export const command: ServerCommand = {
  usage: '<allocation>',
  description: 'Shows the latest results of the checks of an allocation.\n\nNeeds the capability read-job.',
  flags: [VERBOSE_FLAG, ...DATA_FLAGS],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <alloc-id>' },
  run,
};

/** A check result in the API's form, without empty members. */
type Shown = Omit<AllocCheckStatus, 'Task' | 'StatusCode'> & Partial<Pick<AllocCheckStatus, 'Task' | 'StatusCode'>>;

/** Prints the latest result of each service check of an allocation (CL-443). */
async function run(call: Call): Promise<number> {
  const { terminal } = call;
  const { api, alloc } = await readAllocation(call, call.args[0] ?? '', Display.of(call));
  const path = `/v1/client/allocation/${alloc.ID}/checks`;
  const answer = await api.get<Record<string, Shown>>(path).catch((error: unknown) => {
    throw failed('retrieving check status', error);
  });
  if (call.data) {
    call.data(answer.exact);
    return 0;
  }
  const checks = Object.values(answer.value);
  terminal.print(`Status of ${checks.length} Nomad Service Checks\n`);
  for (const check of checks) terminal.print(`${checkTable(check)}\n`);
  return 0;
}

function checkTable(check: Shown): string {
  const code: [string, string][] = check.StatusCode ? [['StatusCode', String(check.StatusCode)]] : [];
  const rows: [string, string][] = [
    ['ID', check.ID],
    ['Name', check.Check],
    ['Group', check.Group],
    ['Task', check.Task || '(group)'],
    ['Service', check.Service],
    ['Status', check.Status],
    ...code,
    ['Mode', check.Mode],
    ['Timestamp', check.Timestamp > 0 ? rfc3339(check.Timestamp * 1_000) : 'N/A'],
    ['Output', check.Output],
  ];
  return table(rows.map(([name, value]) => [name, '=', value]));
}
