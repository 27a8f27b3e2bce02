import { MAX_BIGINT, MAX_INDEX_KEY_BYTES, MAX_INTEGER } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import { objectChanges } from './object-changes.js';
import { unstorable } from './storable-rows.js';

const { aJob, aMachine, anAlloc, anEval, aNode, aRegistration, apply, aScalingPolicy } = fixtures;

const text = (length: number): string => 'x'.repeat(length);

describe('a row that no projection can store', () => {
  it('has texts of an index that are too long together', () => {
    const Namespace = text(600);
    const longest = text(MAX_INDEX_KEY_BYTES - 600);
    expect(unstorable('jobs', aJob({ Namespace, ID: longest }))).toBeUndefined();
    expect(unstorable('jobs', aJob({ Namespace, ID: `${longest}x` }))).toBe(
      'jobs cannot be stored: Namespace and ID must be at most 2600 bytes',
    );
    expect(unstorable('jobs', aJob({ Namespace, ParentID: `${longest}x` }))).toContain('Namespace and ParentID');
    expect(unstorable('allocs', anAlloc({ NodeID: text(MAX_INDEX_KEY_BYTES + 1) }))).toContain('NodeID');
    const Target = { Namespace, Job: `${longest}x` };
    expect(unstorable('scaling_policy', { ...aScalingPolicy(), Target })).toContain('Target');
  });

  it('is measured as PostgreSQL stores it: bytes of UTF-8, and seven for what its text cannot hold', () => {
    const fitting = (unit: string, bytes: number): string => unit.repeat(Math.floor(MAX_INDEX_KEY_BYTES / bytes));
    for (const [unit, bytes] of [
      ['é', 2],
      ['\0', 7],
      ['\ud800', 7],
      ['\ue000', 7],
      ['😀', 4],
    ] as const) {
      expect(unstorable('nodes', aNode({ ID: fitting(unit, bytes) }))).toBeUndefined();
      expect(unstorable('nodes', aNode({ ID: fitting(unit, bytes) + unit }))).toContain(
        'ID must be at most 2600 bytes',
      );
    }
  });

  it.each([MAX_BIGINT * 2, 1.5, Number.NaN, -Infinity, 'text' as never])('has %j for a number of 64 bits', (number) => {
    expect(unstorable('jobs', aJob({ Version: number }))).toBe(
      'jobs cannot be stored: Version is no whole number of 64 bits',
    );
  });

  it('has a number beyond 32 bits where a column has no more', () => {
    expect(unstorable('evals', anEval({ Priority: MAX_INTEGER }))).toBeUndefined();
    expect(unstorable('evals', anEval({ Priority: MAX_INTEGER + 1 }))).toBe(
      'evals cannot be stored: Priority is no whole number of 32 bits',
    );
  });

  it('has a number where a text belongs', () => {
    expect(unstorable('allocs', anAlloc({ NodeID: 5 as never }))).toBe('allocs cannot be stored: NodeID is no text');
    expect(unstorable('nodes', aNode({ NodeClass: true as never }))).toBe(
      'nodes cannot be stored: NodeClass is no text',
    );
  });
});

it('a member that is missing is stored as empty', () => {
  expect(
    unstorable('evals', {
      ...anEval(),
      NodeID: undefined as never,
      Priority: undefined as never,
      ModifyIndex: null as never,
    }),
  ).toBeUndefined();
});

it('a transaction with such a row is refused, changes nothing, and the history does not name what it cannot store', () => {
  const machine = aMachine();
  const applied = apply(machine, 'JobRegister', aRegistration(aJob({ ID: text(3_000) })));
  expect(applied.verdict).toEqual({
    kind: 'refused',
    code: 'invalid',
    error: 'jobs cannot be stored: Namespace and ID must be at most 2600 bytes',
  });
  expect(applied.changes).toEqual([]);
  expect(machine.tables.jobs.size + machine.tables.job_version.size + machine.tables.evals.size).toBe(0);
  expect(objectChanges(applied)).toEqual([]);
});

it('a job whose ID is longer than a request may have, in a log of another version, is applied as before', () => {
  const { verdict } = apply(aMachine(), 'JobRegister', aRegistration(aJob({ ID: text(1_000) })));
  expect(verdict.kind).toBe('accepted');
});
