import { describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import { changeText, MAX_NAMED_MEMBERS } from './change-text.js';
import type { TableName, TableRows } from './tables.js';
import type { Change } from './write.js';

const { aDeployment, aJob, anAlloc, anEval, aNamespace, aNode, aVariable } = fixtures;

/** The text of an update of `row` from `before` to `after`. */
function updated<N extends TableName>(
  table: N,
  row: TableRows[N],
  before: Partial<TableRows[N]>,
  after: Partial<TableRows[N]>,
  members = Object.keys({ ...before, ...after }),
): string {
  return changeText({ table, key: '', before: { ...row, ...before }, after: { ...row, ...after } } as Change, members);
}

describe('the text of a change (CL-1023)', () => {
  it('CL-1023: a new object is created, one without a row afterwards deleted', () => {
    const row = aNamespace();
    const key = row.Name;
    expect(changeText({ table: 'namespaces', key, before: undefined, after: row } as Change, [])).toBe('created');
    expect(changeText({ table: 'namespaces', key, before: row, after: undefined } as Change, [])).toBe('deleted');
  });

  it('CL-1023: a job says its version, that it was stopped or started, its status and its stability', () => {
    const said = (before: object, after: object) => updated('jobs', aJob(), before, after);
    expect(said({ Version: 2, Stop: false }, { Version: 3, Stop: true })).toBe('version 2 -> 3, stopped');
    expect(said({ Stop: true }, { Stop: false })).toBe('started');
    expect(said({ Status: 'pending' }, { Status: 'running' })).toBe('status pending -> running');
    expect(said({ Stable: false }, { Stable: true })).toBe('stable');
    expect(said({ Stable: true }, { Stable: false })).toBe('no longer stable');
  });

  it('CL-1023: an allocation says what is wanted of it, what its machine reports, and its health', () => {
    const said = (before: object, after: object) => updated('allocs', anAlloc(), before, after);
    expect(said({ DesiredStatus: 'run' }, { DesiredStatus: 'stop' })).toBe('desired run -> stop');
    expect(said({ ClientStatus: 'pending' }, { ClientStatus: 'running' })).toBe('client pending -> running');
    const health = (Healthy: boolean | null) => ({
      DeploymentStatus: { Healthy, Timestamp: null, Canary: false, ModifyIndex: 0 },
    });
    expect(said({ DeploymentStatus: null }, health(true))).toBe('health unknown -> healthy');
    expect(said(health(true), health(false))).toBe('health healthy -> unhealthy');
    expect(said(health(false), health(null))).toBe('health unhealthy -> unknown');
  });

  it('CL-1023: evaluations and deployments say their status', () => {
    expect(updated('evals', anEval(), { Status: 'pending' }, { Status: 'complete' })).toBe(
      'status pending -> complete',
    );
    expect(updated('deployment', aDeployment(), { Status: 'running' }, { Status: 'failed' })).toBe(
      'status running -> failed',
    );
  });

  it('CL-1023: a node says its status, its eligibility and its drain', () => {
    const said = (before: object, after: object) => updated('nodes', aNode(), before, after);
    expect(said({ Status: 'ready' }, { Status: 'down' })).toBe('status ready -> down');
    expect(said({ SchedulingEligibility: 'eligible' }, { SchedulingEligibility: 'ineligible' })).toBe(
      'eligibility eligible -> ineligible',
    );
    const drain = (Deadline: number) => ({
      DrainStrategy: { Deadline, IgnoreSystemJobs: false, ForceDeadline: null, StartedAt: null },
    });
    const none = { DrainStrategy: null };
    expect(said(none, drain(3_600e9))).toBe('drain on, deadline 1h0m0s');
    expect(said(none, drain(0))).toBe('drain on, no deadline');
    expect(said(none, drain(-1))).toBe('drain on, forced');
    expect(said(drain(0), drain(60e9))).toBe('drain on, deadline 1m0s');
    expect(said(drain(0), none)).toBe('drain off');
    expect(said({ ...drain(60e9), Status: 'ready' }, { ...drain(60e9), Status: 'down' })).toBe('status ready -> down');
  });

  it('CL-1023, CL-1064: a variable says that it was locked, unlocked or written, never its items', () => {
    const said = (before: object, after: object) => updated('variables', aVariable(), before, after);
    const locked = { Lock: { ID: 'l', TTL: 15e9, LockDelay: 15e9 } };
    expect(said({ Lock: null }, locked)).toBe('locked');
    expect(said(locked, { Lock: null })).toBe('unlocked');
    expect(said({ Data: 'b25l' }, { Data: 'dHdv' })).toBe('items written');
  });

  it('CL-1023: otherwise at most five changed members are named, without times and indexes', () => {
    const named = (...members: string[]) => updated('namespaces', aNamespace(), {}, {}, members);
    const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    expect(MAX_NAMED_MEMBERS).toBe(5);
    expect(named('Description', 'ModifyIndex', 'ModifyTime')).toBe('changed Description');
    expect(named(...letters.slice(0, 5))).toBe('changed a, b, c, d, e');
    expect(named(...letters.slice(0, 6))).toBe('changed a, b, c, d, e and 1 more');
    expect(named(...letters)).toBe('changed a, b, c, d, e and 2 more');
    expect(named('ModifyIndex')).toBe('written again');
    expect(updated('jobs', aJob(), {}, {}, ['Meta'])).toBe('changed Meta');
  });
});
