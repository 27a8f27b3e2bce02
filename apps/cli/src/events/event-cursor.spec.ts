import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventCursor } from './event-cursor.js';

describe('the cursor of the event stream', () => {
  let directory: string;
  let file: string;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'waybill-cursor-'));
    file = path.join(directory, 'cursor');
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('CL-1006: is written at most once a second, and at the end', () => {
    let nowMs = 5_000;
    const cursor = new EventCursor(file, { nowMs: () => nowMs });
    expect(cursor.readIndex()).toBeUndefined();
    const written = () => readFileSync(file, 'utf8');
    cursor.reached(7);
    expect(written()).toBe('7\n');
    nowMs += 999;
    cursor.reached(8);
    expect(written()).toBe('7\n');
    nowMs += 1;
    cursor.reached(9);
    expect(written()).toBe('9\n');
    cursor.reached(10);
    cursor.write();
    expect(new EventCursor(file, { nowMs: () => nowMs }).readIndex()).toBe(10);
  });

  it('CL-1006: a file that holds no number is an error, not a start from elsewhere', () => {
    for (const text of ['', 'seven', '12x', '-1']) {
      writeFileSync(file, text);
      expect(() => new EventCursor(file, { nowMs: () => 0 }).readIndex()).toThrow(/holds no index/);
    }
  });
});
