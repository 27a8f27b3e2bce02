import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Parser, type ReadEntry } from 'tar';
import { describe, expect, it } from 'vitest';
import { pauseFileSystem, pauseProgram } from './pause-image.js';

describe('the image of pause containers', () => {
  it.each([
    ['x64', 62, 9],
    ['arm64', 183, 32],
  ])('NW-34: has a static program for %s', (arch, elf, codeBytes) => {
    const program = pauseProgram(arch)!;
    expect(program.subarray(0, 4).toString('latin1')).toBe('\x7fELF');
    expect(program.readUInt16LE(18)).toBe(elf);
    expect(program.byteLength).toBe(64 + 56 + codeBytes);
    // The entry point is the first instruction, and the whole file is mapped.
    expect(program.readBigUInt64LE(24) - program.readBigUInt64LE(80)).toBe(120n);
    expect(program.readBigUInt64LE(96)).toBe(BigInt(program.byteLength));
  });

  it('NW-34: has none for other machines', () => {
    expect(pauseProgram('riscv64')).toBeUndefined();
  });

  it('NW-34: is an archive with one executable file', async () => {
    const program = pauseProgram('x64')!;
    const found: { path: string; mode: number | undefined; content: Buffer }[] = [];
    const parser = new Parser({
      onReadEntry: (entry: ReadEntry) => {
        const chunks: Buffer[] = [];
        entry.on('data', (chunk: Buffer) => chunks.push(chunk));
        entry.on('end', () => found.push({ path: entry.path, mode: entry.mode, content: Buffer.concat(chunks) }));
      },
    });
    const ended = new Promise<void>((resolve) => parser.on('end', () => resolve()));
    const source = Readable.from([pauseFileSystem(program)]);
    source.on('data', (chunk: Buffer) => parser.write(chunk)).on('end', () => parser.end());
    await finished(source);
    await ended;
    expect(found).toEqual([{ path: 'pause', mode: 0o755, content: program }]);
  });
});
