import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rulesDefinedIn } from '../../scripts/rule-index.mjs';
import { referenceFiles, textOf } from '../../scripts/source-tree.mjs';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';
import { differences } from './compare.js';
import { readTopics } from './pair.js';
import { Replay } from './replay.js';

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
    expect(differences({ a: [{ b: 1 }] }, { a: [{ b: 2 }] }, false)).toEqual([
      { at: '$.a[0].b', wanted: '1', found: '2' },
    ]);
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
    replay = new Replay(waybill.api.url, undefined, true);
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

  it('leaves nothing behind', async () => {
    await replay.clean();
    expect((await waybill.api.get<{ Name: string }[]>('/v1/namespaces')).map(({ Name }) => Name)).toEqual(['default']);
    expect(await waybill.api.get('/v1/jobs?namespace=*')).toEqual([]);
  });
});
