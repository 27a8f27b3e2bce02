import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AllocationRecord } from './allocation-record.js';
import { AllocationRecordStore } from './allocation-record.store.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-records-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const record = (ClientDescription: string, ID = 'a'): AllocationRecord => ({
  version: 1,
  alloc: fixtures.anAlloc({ ID, ClientDescription }),
  tasks: {},
  health: null,
  acknowledged: null,
});
const open = () => new AllocationRecordStore(dir, silentLogger);

describe('state on disk', () => {
  it('AG-190: what was saved is there after a restart', async () => {
    const saved = record('one');
    await open().save(saved);
    expect(await open().load()).toEqual([saved]);
  });

  it('AG-204: a write torn at any byte leaves the state before it', async () => {
    await open().save(record('before'));
    const text = JSON.stringify(record('after'));
    for (const bytes of [0, 1, Math.floor(text.length / 2), text.length]) {
      writeFileSync(path.join(dir, 'a.json.new'), text.slice(0, bytes));
      expect((await open().load()).map((r) => r.alloc.ClientDescription)).toEqual(['before']);
    }
  });

  it('AG-198: one that cannot be decoded is left out, the others are there', async () => {
    await open().save(record('good'));
    const text = readFileSync(path.join(dir, 'a.json'), 'utf8');
    writeFileSync(path.join(dir, 'torn.json'), text.slice(0, 100));
    writeFileSync(path.join(dir, 'empty.json'), '');
    writeFileSync(path.join(dir, 'other.json'), '{"version":2}');
    writeFileSync(path.join(dir, 'null.json'), 'null');
    expect((await open().load()).map((r) => r.alloc.ID)).toEqual(['a']);
  });

  it('many saves at once end with the last one, and each caller waits until its own or a newer one is durable', async () => {
    const store = open();
    const saves = Array.from({ length: 50 }, (_, n) => store.save(record(String(n))));
    await saves[0];
    await Promise.all(saves);
    expect((await open().load()).map((r) => r.alloc.ClientDescription)).toEqual(['49']);
    expect(readdirSync(dir)).toEqual(['a.json']);
  });

  it('a removed one stays removed although a save was under way', async () => {
    const store = open();
    void store.save(record('one'));
    void store.save(record('two'));
    await store.remove('a');
    expect(await open().load()).toEqual([]);
  });
});
