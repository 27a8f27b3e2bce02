import { describe, expect, it } from 'vitest';
import { Terminal } from './terminal.js';

function written(colour: boolean): { out: string; err: string } {
  let [out, err] = ['', ''];
  const sink = (take: (text: string) => void) => ({
    write: (text: string | Uint8Array) => {
      take(String(text));
      return true;
    },
    once: () => undefined,
  });
  const stdout = sink((text) => (out += text));
  const stderr = sink((text) => (err += text));
  const terminal = new Terminal(stdout, stderr, { colour, interactive: false });
  terminal.print('result');
  terminal.section('Allocations');
  terminal.note('note');
  terminal.warn('warning');
  terminal.error('error');
  return { out, err };
}

describe('what is printed where', () => {
  it('CL-131, CL-133, CL-135: results on stdout, all else on stderr; titles behind an empty line, no marks without colour', () => {
    expect(written(false)).toEqual({ out: 'result\n\nAllocations\n', err: 'note\nwarning\nerror\n' });
  });

  it('CL-133: with colour titles are bold, warnings yellow, errors red', () => {
    expect(written(true)).toEqual({
      out: 'result\n\n\u001b[1mAllocations\u001b[22m\n',
      err: 'note\n\u001b[33mwarning\u001b[39m\n\u001b[31merror\u001b[39m\n',
    });
  });

  it('CL-1009: bytes wait until a slow reader has room for more', async () => {
    let drained = (): void => undefined;
    const full = { write: () => false, once: (_: 'drain', listener: () => void) => void (drained = listener) };
    const terminal = new Terminal(full, full, { colour: false, interactive: false });
    let isWritten = false;
    const writing = terminal.bytes('a line\n').then(() => (isWritten = true));
    await new Promise(setImmediate);
    expect(isWritten).toBe(false);
    drained();
    await writing;
    expect(isWritten).toBe(true);
  });
});
