import { describe, expect, it } from 'vitest';
import { startTrace } from './trace-context.js';

const hex = (bytes: number) => 'ab'.repeat(bytes);

describe('trace context', () => {
  it('CL-124: a new trace, or a child of the one given', () => {
    expect(startTrace(undefined, hex)).toBe(`00-${hex(16)}-${hex(8)}-01`);
    const parent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-00`;
    expect(startTrace(parent, hex)).toBe(`00-${'1'.repeat(32)}-${hex(8)}-00`);
    expect(startTrace(`00-${'0'.repeat(32)}-${'2'.repeat(16)}-01`, hex)).toBe(`00-${hex(16)}-${hex(8)}-01`);
    expect(startTrace('rubbish', hex)).toBe(`00-${hex(16)}-${hex(8)}-01`);
  });
});
