import type { FoundTexts } from '@waybill/projection';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { SecretText } from '../secret-text.js';
import { MAX_REDACTION_CHARS, planRedaction } from './redaction.js';

const { aGroup, aJob, anAlloc, aTask } = fixtures;
const SECRET = 'hunter2hunter2';
const secret = new SecretText(SECRET);
const NOTHING: FoundTexts = {
  jobs: [],
  versions: [],
  submissions: [],
  allocs: [],
  allocJobs: [],
  running: [],
  others: [],
};
const aVersion = (over: object = {}) =>
  aJob({
    TaskGroups: [aGroup({ Tasks: [aTask({ Env: { PASSWORD: SECRET } })] })],
    CreateIndex: 5,
    Version: 2,
    Status: 'dead',
    ...over,
  });
const PATH = ['TaskGroups', 0, 'Tasks', 0, 'Env', 'PASSWORD'];
const submission = (Source: string, Version: number) => ({
  Source,
  Format: 'hcl2',
  VariableFlags: null,
  Variables: '',
  Namespace: 'default',
  JobID: 'web',
  Version,
  JobModifyIndex: 9,
});

describe('planRedaction', () => {
  it('ST-185: a version is named once, with every text of any of its copies', () => {
    const copy = { ...aVersion(), Meta: { note: SECRET } };
    const found = { ...NOTHING, jobs: [aVersion()], versions: [aVersion()], allocJobs: [copy] };
    const { transactions, versions, inUse, names } = planRedaction(found, secret);
    expect(transactions).toHaveLength(1);
    expect(transactions[0]?.Versions).toEqual([
      {
        Namespace: 'default',
        JobID: 'web',
        CreateIndex: 5,
        Version: 2,
        Texts: expect.arrayContaining([
          { Path: PATH, Text: '<redacted>' },
          { Path: ['Meta', 'note'], Text: '<redacted>' },
        ]),
      },
    ]);
    expect(versions[0]?.Places).toEqual(expect.arrayContaining([PATH.join('.'), 'Meta.note']));
    expect([inUse, names]).toEqual([[], []]);
    // Another job of the same name, from before a purge, is another version.
    const former = aVersion({ CreateIndex: 1 });
    expect(planRedaction({ ...found, allocJobs: [former] }, secret).versions).toHaveLength(2);
  });

  it('ST-185: jobs that are not dead, allocations that run and names stand in the way', () => {
    const found = { ...NOTHING, jobs: [aVersion({ Status: 'running' })], versions: [aVersion({ ID: `a-${SECRET}` })] };
    const { inUse, names } = planRedaction({ ...found, running: ['7'] }, secret);
    expect(inUse).toEqual(['version 2 of job "web" in namespace "default" is in use', 'allocation "7" has not ended']);
    expect(names).toEqual([`a name in version 2 of job "a-${SECRET}" in namespace "default"`]);
  });

  it('ST-185: no transaction is larger than the log takes', () => {
    const source = `${'x'.repeat(MAX_REDACTION_CHARS * 0.4)}${SECRET}`;
    const submissions = [0, 1, 2, 3, 4].map((version) => submission(source, version));
    const alloc = { ...anAlloc(), ClientDescription: SECRET, Job: null };
    const { transactions } = planRedaction({ ...NOTHING, submissions, allocs: [alloc] }, secret);
    expect(transactions.map(({ Submissions }) => Submissions.length)).toEqual([2, 2, 1]);
    for (const one of transactions) expect(JSON.stringify(one).length).toBeLessThan(MAX_REDACTION_CHARS + 1_000);
    expect(transactions.at(-1)?.Allocs).toEqual([
      { ID: alloc.ID, Texts: [{ Path: ['ClientDescription'], Text: '<redacted>' }] },
    ]);
    expect(planRedaction(NOTHING, secret).transactions).toEqual([]);
  });
});
