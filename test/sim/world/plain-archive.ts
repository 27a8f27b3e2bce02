import type { OpenedArchive } from '@waybill/journal';
import { archiveLines, readArchive, type StateMachine } from '@waybill/state';
import { frozen } from './frozen.js';

interface PlainArchive {
  readonly index: number;
  readonly lines: readonly string[];
}

/*
 * The form of archives in a run: the real rows, without the outer form of OP-43, for the same state is not compressed to
 * the same bytes on every machine.
 */

/** The archive of a whole state. O(state). */
export function plainArchive({ tables, appliedIndex: index }: StateMachine): Buffer {
  return Buffer.from(JSON.stringify({ index, lines: [...archiveLines(tables)] } satisfies PlainArchive));
}

export function openPlainArchive(bytes: Uint8Array): OpenedArchive {
  const { index, lines } = JSON.parse(Buffer.from(bytes).toString('utf8')) as PlainArchive;
  return frozen({ index, tables: readArchive(lines) });
}
