import type { OfflineCall, OfflineCommand } from '../command-spec.js';
import { DATA_FLAGS, dataPrinter } from '../terminal/data-printer.js';
import { readSnapshot } from '../operator/snapshot-file.js';
import { keyValues, table } from '../terminal/table.js';

/** Verifies a snapshot file and describes its contents (OP-50). */
export const command: OfflineCommand = {
  usage: '<file>',
  description: 'Verifies a saved state and describes it.',
  flags: DATA_FLAGS,
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <file>' },
  offline: true,
  run,
};

async function run({ args, flags, terminal }: OfflineCall): Promise<number> {
  const data = await dataPrinter(DATA_FLAGS, flags, terminal);
  const { bytes, meta } = await readSnapshot(args[0] ?? '');
  const { ID, Index, Term, Version, Tables } = meta;
  if (data) {
    data({ ID, Size: bytes.length, Index, Term, Version, Tables });
    return 0;
  }
  const about: [string, string][] = [
    ['ID', ID],
    ['Size', String(bytes.length)],
    ['Index', String(Index)],
    ['Term', String(Term)],
    ['Version', Version],
  ];
  const rows = Object.entries(Tables).map(([name, count]) => [name, String(count)]);
  terminal.print(`${keyValues(about)}\n${table([['Table', 'Rows'], ...rows])}`);
  return 0;
}
