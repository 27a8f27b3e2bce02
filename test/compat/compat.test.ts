import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rulesDefinedIn } from '../../scripts/rule-index.mjs';
import { referenceFiles, textOf } from '../../scripts/source-tree.mjs';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';
import { differences } from './compare.js';
import { type Pair, readTopics } from './pair.js';
import { Replay } from './replay.js';

/** The one pair of a file with these members besides `rule` and `what`. */
function pairOf(yaml: string): Pair {
  const directory = mkdtempSync(path.join(tmpdir(), 'waybill-pairs-'));
  try {
    const members = `rule: API-1\nwhat: a test\n${yaml}`.split('\n');
    writeFileSync(
      path.join(directory, 'some.yaml'),
      members.map((line, at) => `${at === 0 ? '-' : ' '} ${line}\n`).join(''),
    );
    const [topic] = readTopics(directory);
    return topic!.pairs[0]!;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const topics = readTopics(fileURLToPath(new URL('./pairs', import.meta.url)));

describe('what counts as the same answer', () => {
  it('a placeholder stands for any value of its kind, and for no other', () => {
    const wanted = { ID: '<uuid>', Index: '<index>', At: '<time>', Name: 'web' };
    const right = { ID: 'b4a4b2f5-36c8-4c4e-9d0f-6a2f0a1f9a11', Index: 7, At: 1.7e18, Name: 'web' };
    expect(differences(wanted, right, true)).toEqual([]);
    const wrong = { ID: 'b4a4', Index: 0, At: 1.7e9, Name: 'db' };
    expect(differences(wanted, wrong, true).map(({ at }) => at)).toEqual(['$.ID', '$.Index', '$.At', '$.Name']);
  });

  it('members that nobody named are a difference of a whole answer only; lists are always whole', () => {
    expect(differences({ a: 1 }, { a: 1, b: 2 }, false)).toEqual([]);
    expect(differences({ a: 1 }, { a: 1, b: 2 }, true)).toEqual([{ at: '$.b', wanted: 'not there', found: '2' }]);
    expect(differences({ a: null }, {}, false)).toEqual([{ at: '$.a', wanted: 'null', found: 'not there' }]);
    expect(differences([1], [1, 2], false)).toHaveLength(1);
    expect(differences('<none>', null, true)).toEqual([]);
    expect(differences('<none>', '0', true)).toHaveLength(1);
    expect(differences({ a: [{ b: 1 }] }, { a: [{ b: 2 }] }, false)).toEqual([
      { at: '$.a[0].b', wanted: '1', found: '2' },
    ]);
  });
});

describe('a file of pairs', () => {
  it('is refused with its name and the place of what is wrong', () => {
    expect(() => pairOf('send: JUMP /v1/jobs')).toThrow(/^some\.yaml, pair 1: .*\n.*at send/s);
    expect(() => pairOf('send: GET /v1/jobs\nsayz: x')).toThrow('Unrecognized key: "sayz"');
    expect(() => pairOf('file: x\nstatus: 200')).toThrow('Unrecognized key: "status"');
  });
});

describe('the table of pairs, against a server', () => {
  let waybill: WaybillProcesses;
  let replay: Replay;

  beforeAll(async () => {
    waybill = await WaybillProcesses.startTogether();
    await eventually('the machine is ready', async () =>
      (await waybill.api.get<{ Status: string }[]>('/v1/nodes')).some(({ Status }) => Status === 'ready'),
    );
    replay = new Replay(waybill.api.url, { disturb: true, isOurs: true });
    await replay.begin();
  });
  afterAll(async () => {
    await waybill?.stop();
  });

  it('has at least 300 pairs, and each names a rule of the contract', () => {
    const pairs = topics.flatMap((topic) => topic.pairs);
    expect(pairs.length).toBeGreaterThanOrEqual(300);
    const known = new Set(referenceFiles().flatMap((file) => rulesDefinedIn(textOf(file))));
    expect(pairs.filter(({ rule }) => !known.has(rule))).toEqual([]);
  });

  it.each(topics)('API-550: $name', { timeout: 180_000 }, async (topic) => {
    const outcomes = await replay.play(topic);
    expect(outcomes.filter(({ differences: found }) => found.length > 0)).toEqual([]);
  });

  it('leaves machines and the cluster alone unless it may disturb', async () => {
    const careful = new Replay(waybill.api.url);
    const all = topics.flatMap(({ pairs }) => pairs).filter((pair) => pair.kind === 'request');
    const disturbing = all.filter(({ disturbs }) => disturbs);
    expect(disturbing.map(({ send }) => send)).toContain('PUT /v1/system/gc');
    await careful.begin();
    try {
      const outcomes = await careful.play({ name: 'disturbing', pairs: disturbing });
      expect(outcomes).toEqual([]);
    } finally {
      await careful.clean();
    }
    const writes = all.filter(({ send }) => /^(PUT|POST|DELETE) \/v1\/(system|node\/<<)/.test(send));
    expect(writes.filter(({ disturbs, status }) => !disturbs && status < 400)).toEqual([]);
  });

  it('says which server cannot be reached', async () => {
    await expect(new Replay('http://127.0.0.1:1').begin()).rejects.toThrow('cannot reach http://127.0.0.1:1: ');
  });

  it('plays no further pair once it is interrupted', async () => {
    const stopped = new Replay(waybill.api.url);
    await stopped.begin();
    stopped.interrupt();
    expect(await stopped.play({ name: 'none', pairs: [pairOf('send: GET /v1/jobs')] })).toEqual([]);
    await stopped.clean();
  });

  it('says where an answer is another one, and goes on', async () => {
    const wrong = {
      name: 'wrong',
      pairs: [pairOf(`send: GET /v1/job/none\ntext: x`), pairOf('send: GET /v1/jobs\nanswer: []')],
    };
    const outcomes = await replay.play(wrong);
    expect(outcomes.map(({ differences: found }) => found)).toEqual([
      [
        { at: 'status', wanted: '200', found: '404 job not found' },
        { at: 'the text', wanted: 'x', found: 'job not found' },
      ],
      [],
    ]);
  });

  it('leaves nothing behind', async () => {
    await replay.clean();
    expect((await waybill.api.get<{ Name: string }[]>('/v1/namespaces')).map(({ Name }) => Name)).toEqual(['default']);
    expect(await waybill.api.get('/v1/jobs?namespace=*')).toEqual([]);
  });
});
