/*
 * Format of `state.bin` in an archive, which the reference's `operator snapshot inspect` can read. After a header, each
 * row is one byte for its kind and a MessagePack text with the row's JSON line.
 */

/** MessagePack code of a map without members. */
const HEADER = 0x80;
/** MessagePack code of a text whose length is in the next four bytes. */
const TEXT = 0xdb;
/** Bytes before a row's text: its kind, the code of a text, and the length. */
const ROW_HEAD_BYTES = 6;
const NEWLINE = 0x0a;
/** Bytes of rows that are copied at a time. Between two portions, the process serves other requests. */
const BYTES_AT_ONCE = 8 * 1024 * 1024;

/** The reference's numbers of kinds, by our tables. It shows other kinds as unknown, with their number. */
const KINDS: Readonly<Record<string, number>> = {
  nodes: 0,
  jobs: 1,
  evals: 3,
  allocs: 4,
  periodic_launch: 6,
  job_summary: 7,
  job_version: 9,
  deployment: 10,
  scheduler_config: 13,
  scaling_policy: 16,
  csi_plugins: 17,
  csi_volumes: 18,
  scaling_event: 19,
  service_registrations: 21,
  namespaces: 64,
};
const OTHER_KIND = 127;

/** The content of a file is not a state in this format. */
export class BadStateError extends Error {
  override readonly name = 'BadStateError';
}

/** @param lines one JSON line per row */
export async function frameState(lines: Buffer): Promise<Buffer> {
  const framed = Buffer.alloc(1 + lines.length + ROW_HEAD_BYTES * countLines(lines));
  let end = framed.writeUInt8(HEADER, 0);
  let pausedAt = 0;
  for (let at = 0; at < lines.length;) {
    const next = endOfLine(lines, at);
    end = framed.writeUInt8(kindOf(lines, at, next), end);
    end = framed.writeUInt8(TEXT, end);
    end = framed.writeUInt32BE(next - at, end);
    end += lines.copy(framed, end, at, next);
    at = next;
    if (at - pausedAt < BYTES_AT_ONCE) continue;
    pausedAt = at;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return framed;
}

/** @throws BadStateError */
export function unframeState(framed: Buffer): Buffer {
  if (framed[0] !== HEADER) throw new BadStateError('it begins with no header');
  const lines = Buffer.alloc(framed.length);
  let length = 0;
  for (let at = 1; at < framed.length;) {
    if (at + ROW_HEAD_BYTES > framed.length || framed[at + 1] !== TEXT) throw new BadStateError('a row is no text');
    const from = at + ROW_HEAD_BYTES;
    const to = from + framed.readUInt32BE(at + 2);
    if (to > framed.length) throw new BadStateError('its last row ends too early');
    length += framed.copy(lines, length, from, to);
    at = to;
  }
  return lines.subarray(0, length);
}

/** Returns the position after the line that starts here. */
function endOfLine(lines: Buffer, at: number): number {
  const newline = lines.indexOf(NEWLINE, at);
  return newline < 0 ? lines.length : newline + 1;
}

function countLines(lines: Buffer): number {
  let count = 0;
  for (let at = 0; at < lines.length; at = endOfLine(lines, at)) count++;
  return count;
}

const TABLE_BEGINS = Buffer.from('{"table":"');
const QUOTE = 0x22;

function kindOf(lines: Buffer, from: number, to: number): number {
  const name = from + TABLE_BEGINS.length;
  if (name > to || TABLE_BEGINS.compare(lines, from, name) !== 0) return OTHER_KIND;
  const end = lines.indexOf(QUOTE, name);
  return end < 0 || end > to ? OTHER_KIND : (KINDS[lines.toString('latin1', name, end)] ?? OTHER_KIND);
}
