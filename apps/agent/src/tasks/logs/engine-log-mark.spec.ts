import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { BEGIN, type Mark, MarkFinder } from './engine-log-mark.js';

interface Piece {
  readonly time: string;
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: number;
}

const NO_BYTES = { stdout: 0, stderr: 0 };
const at = (ms: number): string => `${new Date(Date.UTC(2026, 0, 2) + ms).toISOString().slice(0, -1)}000000Z`;

/** Returns the mark after these times, each with one byte on stdout. */
function markAfter(times: readonly string[], mark: Mark = BEGIN): Mark {
  const finder = new MarkFinder(mark);
  for (const [stdout, time] of times.entries()) finder.take(time, { stdout, stderr: 0 });
  return finder.mark;
}

/** Returns numbers in [0, 1) that a seed determines. */
function dice(seed: string): () => number {
  let n = 0;
  return () => createHash('sha256').update(`${seed}/${n++}`).digest().readUInt32BE() / 2 ** 32;
}

/** The log of an engine whose two copiers wait up to `disorderMs` between taking the time and writing. */
function randomLog(roll: () => number, disorderMs: number): Piece[] {
  const written = (['stdout', 'stderr'] as const).flatMap((stream) => {
    let [ms, writtenMs] = [0, 0];
    return Array.from({ length: 60 }, () => {
      if (roll() > 0.2) ms += Math.ceil(roll() * 700); // otherwise a part of a long line, with the line's time
      writtenMs = Math.max(writtenMs + 0.1, ms + roll() * disorderMs);
      return { time: at(ms), stream, bytes: 1 + Math.floor(roll() * 9), writtenMs };
    });
  });
  return written.toSorted((a, b) => a.writtenMs - b.writtenMs);
}

const bytesOf = (pieces: readonly Piece[], stream: string): number =>
  pieces.reduce((sum, piece) => sum + (piece.stream === stream ? piece.bytes : 0), 0);

/** What an engine sends from a time on: newer engines from the first piece that is not older, older ones no older piece. */
const ENGINES = {
  newer: (log: readonly Piece[], since: string) => log.slice(log.findIndex(({ time }) => time >= since)),
  older: (log: readonly Piece[], since: string) => log.filter(({ time }) => time >= since),
};

describe('MarkFinder', () => {
  it('AG-242: a time becomes the mark when a second of output has followed', () => {
    expect(markAfter([at(0), at(999)])).toEqual(BEGIN);
    expect(markAfter([at(0), at(400), at(1_000)])).toEqual({ since: at(0), stdout: 0, stderr: 0 });
    expect(markAfter([at(0), at(1_000), at(1_500), at(2_000)])).toEqual({ since: at(1_000), stdout: 1, stderr: 0 });
  });

  it('AG-242: neither an older time nor a later part of a long line becomes the mark', () => {
    expect(markAfter([at(500), at(400), at(1_600)])).toEqual(BEGIN);
    expect(markAfter([at(500), at(400), at(1_600), at(2_600)])).toEqual({ since: at(1_600), stdout: 2, stderr: 0 });
    expect(markAfter([at(500), at(500), at(500), at(1_500)])).toEqual({ since: at(500), stdout: 0, stderr: 0 });
  });

  it('AG-242: a clock that goes back behind the mark makes it void, until it is as late as before', () => {
    const mark = { since: at(10_000), stdout: 7, stderr: 2 };
    expect(markAfter([at(10_000)], mark)).toEqual(mark);
    expect(markAfter([at(10_000), at(5_000), at(8_000), at(9_999)], mark)).toEqual(BEGIN);
  });

  it('AG-242: times are compared by value where the engine leaves out digits', () => {
    const times = ['2026-01-02T00:00:00Z', '2026-01-02T00:00:00.5Z', '2026-01-02T00:00:00.25Z', at(1_600), at(2_700)];
    expect(markAfter(times)).toEqual({ since: at(1_600), stdout: 3, stderr: 0 });
    expect(markAfter(['2026-01-02T00:00:01.5Z', '2026-01-02T00:00:01Z', at(3_000)])).toEqual(BEGIN);
    expect(markAfter(['2026-01-02T00:00:01.500000001Z', '2026-01-02T00:00:01.5Z', at(3_000)])).toEqual(BEGIN);
  });

  it('AG-242: from every mark, each engine sends what the mark says, and marks keep up (300 random logs)', () => {
    let marks = 0;
    for (let seed = 0; seed < 300; seed++) {
      const log = randomLog(dice(`log ${seed}`), seed % 900);
      const finder = new MarkFinder(BEGIN);
      const seen = { ...NO_BYTES };
      for (const piece of log) {
        const last = finder.mark.since;
        finder.take(piece.time, seen);
        seen[piece.stream] += piece.bytes;
        const { since, ...before } = finder.mark;
        if (since === last) continue;
        marks++;
        for (const [engine, send] of Object.entries(ENGINES))
          for (const stream of ['stdout', 'stderr'] as const)
            expect(bytesOf(log, stream) - bytesOf(send(log, since), stream), `seed ${seed}, ${engine}`).toBe(
              before[stream],
            );
      }
    }
    expect(marks).toBeGreaterThan(1_000);
  });
});
