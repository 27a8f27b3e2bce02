import { describe, expect, it } from 'vitest';
import { AnswerFailure, ConnectionFailure } from './api-failure.js';
import { retriedRead } from './retried-read.js';
import { Terminal } from '../terminal/terminal.js';

/** Reads that fail so often, and what was said and waited meanwhile. */
async function reading(failures: number, failure: Error) {
  const sink = (take: (text: string) => void) => ({
    write: (text: string | Uint8Array) => {
      take(String(text));
      return true;
    },
    once: () => undefined,
  });
  let [out, err, left] = ['', '', failures];
  const waits: number[] = [];
  const terminal = new Terminal(
    sink((text) => (out += text)),
    sink((text) => (err += text)),
    { colour: false, interactive: false },
  );
  const sleep = async (ms: number): Promise<void> => void waits.push(ms / 1_000);
  const ended = retriedRead('deployment', { sleep, terminal }, async () => {
    if (left-- > 0) throw failure;
    return 'read';
  });
  return { ended: await ended.catch((error: unknown) => error), waits, out, notes: err.trimEnd().split('\n') };
}

describe('reads of a monitor', () => {
  it('CL-214: ten times again, with growing waits, each of them said', async () => {
    const lost = new ConnectionFailure('gone');
    const { ended, waits, out, notes } = await reading(11, lost);
    expect(ended).toBe(lost);
    expect(waits).toEqual([1, 2, 4, 8, 12, 12, 12, 12, 12, 12]);
    expect(out).toBe('');
    expect(notes[0]).toBe('Failed fetching deployment: gone, retrying in 1s (attempt 1/10)');
    expect(notes[9]).toBe('Failed fetching deployment: gone, retrying in 12s (attempt 10/10)');
    expect((await reading(10, lost)).ended).toBe('read');
  });

  it('CL-208: what is the server’s trouble is tried again, what is refused is not', async () => {
    expect((await reading(1, new AnswerFailure(503, ''))).ended).toBe('read');
    const refused = new AnswerFailure(403, 'Permission denied');
    expect(await reading(1, refused)).toMatchObject({ ended: refused, waits: [] });
  });
});
