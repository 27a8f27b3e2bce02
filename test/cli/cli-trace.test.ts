import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

const EVAL = '6b4c1d2e-0000-4000-8000-000000000001';
const NEXT = '7c4c1d2e-0000-4000-8000-000000000002';
const START_NS = Date.parse('2026-03-01T10:00:00Z') * 1e6;

const related = {
  ID: NEXT,
  Priority: 50,
  TriggeredBy: 'queued-allocs',
  NodeID: '',
  Status: 'blocked',
  StatusDescription: 'created to place remaining allocations',
  CreateTime: START_NS + 50e6,
  ModifyTime: START_NS + 1_250e6,
};
const evaluation = {
  ID: EVAL,
  JobID: 'web',
  Namespace: 'prod',
  TriggeredBy: 'job-register',
  Status: 'complete',
  CreateTime: START_NS,
  CreateIndex: 12,
};
const step = (Name: string, ms: number, Index: number) => ({
  Time: START_NS + ms * 1e6,
  EndTime: 0,
  Service: 'log',
  Instance: '',
  Name,
  Index,
  ClockSkewed: false,
  Details: {},
});
const trace = (steps: object[], more: object = {}) => ({
  EvalID: EVAL,
  TraceID: '',
  Complete: true,
  Steps: steps,
  Related: [],
  ...more,
});
const begun = [step('submitted', 0, 0), step('committed', 3, 12)];
const whole = [...begun, step('completed', 30, 15)];
const TRACE = `GET /v1/waybill/trace/evaluation/${EVAL}`;

describe('waybill trace', () => {
  let api: RecordedApi;
  beforeEach(async () => {
    api = await RecordedApi.start();
    api.play('GET /v1/evaluations', [evaluation]);
    api.play(`GET /v1/evaluation/${EVAL}`, evaluation);
    api.play(TRACE, trace(whole));
  });
  afterEach(() => api.stop());

  it('CL-1048: the trace is asked for in the namespace of the evaluation; -allocs asks for all', async () => {
    const { code, out } = await api.run(['trace', '6b4c']);
    expect(code).toBe(0);
    expect(out).toMatch(/^\+30ms +<none> +log +completed +15 /m);
    const reads = api.seen.slice(1);
    expect(reads.map(({ line }) => line)).toEqual([TRACE, `GET /v1/evaluation/${EVAL}`]);
    expect(reads.map(({ query }) => query.get('namespace'))).toEqual(['prod', 'prod']);
    expect(reads[0]?.query.get('allocs')).toBeNull();
    await api.run(['trace', '-allocs', '6b4c']);
    expect(api.seen.at(-2)?.query.get('allocs')).toBe('true');
  });

  it('CL-1045: related evaluations as a table, with -related their time lines too', async () => {
    const Related = [{ ...related, Started: related.CreateTime, Took: 1_200e6 }];
    api.play(TRACE, trace(whole, { Related }));
    api.play(`GET /v1/evaluation/${NEXT}`, { ...evaluation, ID: NEXT });
    api.play(`GET /v1/waybill/trace/evaluation/${NEXT}`, trace(whole, { EvalID: NEXT }));
    const { out } = await api.run(['trace', '6b4c']);
    const rows = out.slice(out.indexOf('Related Evaluations')).trim().split('\n').slice(1);
    expect(rows.map((row) => row.split(/ {2,}/))).toEqual([
      ['ID', 'Priority', 'Triggered By', 'Node ID', 'Status', 'Description', 'Started', 'Took'],
      ['7c4c1d2e', '50', 'queued-allocs', '<none>', 'blocked', related.StatusDescription, '<ts>', '1.2s'],
    ]);
    const all = await api.run(['trace', '-related', '6b4c']);
    expect(all.out.match(/^Evaluation +=.*$/gm)).toEqual(['Evaluation   = 6b4c1d2e', 'Evaluation   = 7c4c1d2e']);
  });

  it('CL-1046: -f prints each step once, until the evaluation is over', async () => {
    api.play(`GET /v1/evaluation/${EVAL}`, { ...evaluation, Status: 'pending' }, evaluation);
    api.play(TRACE, trace(begun), trace(whole));
    const { code, out } = await api.run(['trace', '-f', '6b4c']);
    expect(code).toBe(0);
    expect(out.match(/ {2}(submitted|committed|completed) /g)?.map((name) => name.trim())).toEqual([
      'submitted',
      'committed',
      'completed',
    ]);
    expect(out).toContain('Total        = 30ms');
  });

  it('CL-1046: -f prints a step once, whatever is known of it later, and each of several of one name', async () => {
    const commit = step('plan committed', 20, 14);
    const [first, second] = [step('scheduled', 10, 0), step('scheduled', 18, 0)];
    const longer = { ...commit, Time: commit.Time - 2e6, EndTime: commit.Time + 3e6 };
    api.play(`GET /v1/evaluation/${EVAL}`, { ...evaluation, Status: 'pending' }, evaluation);
    api.play(TRACE, trace([...begun, first, commit]), trace([...begun, first, second, longer, ...whole.slice(2)]));
    const { out } = await api.run(['trace', '-f', '6b4c']);
    const names = [...out.matchAll(/^\S+ +\S+ +log +(\S+(?: \S+)*) {2,}/gm)].map(([, name]) => name);
    expect(names).toEqual(['submitted', 'committed', 'scheduled', 'plan committed', 'scheduled', 'completed']);
  });

  it('CL-165: interrupted, -f says how to watch on', async () => {
    api.play(`GET /v1/evaluation/${EVAL}`, { ...evaluation, Status: 'pending' }, () => undefined);
    const { code, err } = await api.run(['trace', '-f', '6b4c'], {}, /completed/);
    expect([code, err.split('\n')[0]]).toEqual([130, 'To watch on: waybill trace -f -namespace=prod 6b4c1d2e']);
  });

  it('CL-1041: what took less than the clock tells took some time', async () => {
    api.play(TRACE, trace([...begun, { ...step('plan checked', 20, 0), EndTime: START_NS + 20e6 }]));
    expect((await api.run(['trace', '6b4c'])).out).toMatch(/^\+20ms +<1ms +log +plan checked/m);
  });

  it('CL-1046, CL-1048: -json is the trace of the API; an unknown ID, and one that only the log still has', async () => {
    const { out } = await api.run(['trace', '-json', '6b4c']);
    expect(JSON.parse(out)).toMatchObject({ EvalID: EVAL, Complete: true, Steps: [{ Name: 'submitted' }, {}, {}] });
    expect(out).toContain(`"Time": ${BigInt(START_NS)}`);
    api.play('GET /v1/evaluations', []);
    expect(await api.run(['trace', '6b4c'])).toMatchObject({
      code: 1,
      err: 'No evaluation(s) with prefix or id "6b4c" found\n',
    });
    api.play(`GET /v1/evaluation/${EVAL}`, [404, 'eval not found']);
    const collected = await api.run(['trace', EVAL]);
    expect(collected.out).toContain('Status       = <none>');
    expect(collected.out).toContain('completed');
    api.play(TRACE, [404, 'eval not found']);
    expect((await api.run(['trace', EVAL])).err).toBe(`No evaluation(s) with prefix or id "${EVAL}" found\n`);
  });

  it('CL-1029: a server without a log says so', async () => {
    api.play(TRACE, [404, '']);
    expect(await api.run(['trace', '6b4c'])).toMatchObject({
      code: 1,
      err: 'The server does not keep a transaction log (no Waybill server?)\n',
    });
  });
});
