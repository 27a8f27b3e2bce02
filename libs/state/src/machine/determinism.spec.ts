import { canonicalJson } from './canonical-json.js';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { TXN_TYPES } from '../log/catalogue.js';
import { digestLines, stateDigest } from './digest.js';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import { StateMachine } from './state-machine.js';
import type { Table } from './table.js';
import { TABLE_NAMES } from './tables.js';
import type { Txn } from '../log/txn.js';

const TRANSACTIONS = 2_000;
const SEEDS = [2, 20_261_121];

interface Outcome {
  readonly verdicts: string[];
  readonly frames: string[];
}

function applyAll(machine: StateMachine, txns: readonly Txn[]): Outcome {
  const outcome: Outcome = { verdicts: [], frames: [] };
  for (const txn of txns) {
    const applied = machine.apply(txn);
    if (applied.defect) throw applied.defect;
    outcome.verdicts.push(canonicalJson(applied.verdict));
    const frame = eventsOf(applied);
    if (frame) outcome.frames.push(canonicalJson(frame));
  }
  return outcome;
}

/** A copy as a snapshot gives it: rows in another order, members in another order, nothing shared. */
function reloaded(from: StateMachine): StateMachine {
  const machine = new StateMachine();
  const load = <Row extends object>(table: Table<Row>, source: Table<Row>) => {
    const rows = [...source.entries()].toReversed();
    for (const [key, row] of rows) table.replace(key, JSON.parse(canonicalJson(row)) as Row);
    table.tableIndex = source.tableIndex;
  };
  for (const name of TABLE_NAMES) {
    load(machine.tables[name] as Table<object>, from.tables[name] as Table<object>);
  }
  for (const entry of from.requests.entries()) machine.requests.remember(entry);
  machine.startAt(from.appliedIndex);
  return machine;
}

describe.each(SEEDS)('a random log of seed %i', (seed) => {
  const txns = fixtures.aRandomLog(seed, TRANSACTIONS);
  const first = new StateMachine();
  const outcome = applyAll(first, txns);

  it('has every type in it, accepted and refused', () => {
    const kinds = (kind: string) => outcome.verdicts.filter((verdict) => verdict.includes(`"kind":"${kind}"`)).length;
    const types = new Set(Object.keys(TXN_TYPES));
    types.delete('StateRestore'); // state-restore.spec.ts
    expect(new Set(txns.map((txn) => txn.type))).toEqual(types);
    expect(kinds('accepted')).toBeGreaterThan(TRANSACTIONS / 4);
    expect(kinds('refused')).toBeGreaterThan(TRANSACTIONS / 20);
    expect(kinds('void')).toBeGreaterThan(10);
    for (const name of ['jobs', 'evals', 'allocs', 'deployment', 'nodes', 'job_version'] as const) {
      expect([name, first.tables[name].size > 0]).toEqual([name, true]);
    }
  });

  afterEach(() => void vi.useRealTimers());

  it('DP-212: applied on another day gives the same rows: every time is that of the transaction', () => {
    vi.useFakeTimers({ now: Date.UTC(2031, 5, 1) });
    const later = new StateMachine();
    expect(applyAll(later, txns)).toEqual(outcome);
    expect(stateDigest(later)).toBe(stateDigest(first));
  });

  it('ST-3: applied twice gives the same rows, verdicts and events', () => {
    const second = new StateMachine();
    expect(applyAll(second, txns)).toEqual(outcome);
    expect([...digestLines(second.tables)]).toEqual([...digestLines(first.tables)]);
    expect(stateDigest(second)).toBe(stateDigest(first));
  });

  it('ST-22: what is written has the type of its transaction, whichever part of the code wrote it', () => {
    const machine = new StateMachine();
    let events = 0;
    for (const txn of txns) {
      const types = eventsOf(machine.apply(txn))?.Events.map((event) => event.Type) ?? [];
      events += types.length;
      expect(new Set(types).size).toBeLessThanOrEqual(1);
      for (const type of types) expect(type).toBe(TXN_TYPES[txn.type].eventType);
    }
    expect(events).toBeGreaterThan(TRANSACTIONS / 4);
  });

  it('ST-3 EV-12 EV-13: a copy that starts from a snapshot ends with the same rows, verdicts and events', () => {
    const half = new StateMachine();
    const before = applyAll(half, txns.slice(0, TRANSACTIONS / 2));
    const copy = reloaded(half);
    expect(stateDigest(copy)).toBe(stateDigest(half));
    const after = applyAll(copy, txns.slice(TRANSACTIONS / 2));
    expect([...before.verdicts, ...after.verdicts]).toEqual(outcome.verdicts);
    expect([...before.frames, ...after.frames]).toEqual(outcome.frames);
    expect(stateDigest(copy)).toBe(stateDigest(first));
  });

  it('ST-70 ST-74: what the derived indexes count is what a scan finds, and version rows show the job’s status', () => {
    const { allocs, evals, deployment, jobs, job_version } = first.tables;
    for (const [key, job] of jobs.entries()) {
      const ofJob = (row: { Namespace: string; JobID: string }) => `${row.Namespace}/${row.JobID}` === key;
      const live = [...allocs.all()].filter(
        (row) =>
          ofJob(row) && row.DesiredStatus === 'run' && !['complete', 'failed', 'lost'].includes(row.ClientStatus),
      );
      const open = [...evals.all()].filter((row) => ofJob(row) && ['pending', 'blocked'].includes(row.Status));
      const active = [...deployment.all()].filter((row) => ofJob(row) && ['running', 'paused'].includes(row.Status));
      expect([key, allocs.count('live', key), evals.count('open', key), deployment.count('active', key)]).toEqual([
        key,
        live.length,
        open.length,
        active.length,
      ]);
      const version = job_version.get(`${key}@${job.Version}`);
      expect([key, version?.Status]).toEqual([key, job.Status]);
    }
  });

  it('ST-23 ST-77: indexes and counters are never impossible', () => {
    for (const name of ['jobs', 'evals', 'allocs', 'deployment', 'nodes', 'job_summary'] as const) {
      for (const row of first.tables[name].all()) {
        expect(row.CreateIndex).toBeGreaterThan(0);
        expect(row.ModifyIndex).toBeGreaterThanOrEqual(row.CreateIndex);
        expect(row.ModifyIndex).toBeLessThanOrEqual(first.tables[name].tableIndex);
      }
    }
    for (const summary of first.tables.job_summary.all()) {
      const counters = [...Object.values(summary.Summary), ...(summary.Children ? [summary.Children] : [])];
      for (const counter of counters) expect(Math.min(...Object.values(counter))).toBeGreaterThanOrEqual(0);
    }
  });
});
