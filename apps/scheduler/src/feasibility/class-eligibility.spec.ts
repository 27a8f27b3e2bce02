import { describe, expect, it } from 'vitest';
import { ClassEligibility, eligibleForAny } from './class-eligibility.js';

const of = (jobEscapes = false, ...escapedGroups: string[]) => new ClassEligibility(jobEscapes, new Set(escapedGroups));

describe('classes on which a job can run', () => {
  it('a class that was not checked has no verdict, another one keeps its own', () => {
    const classes = of();
    expect([classes.jobVerdict('a'), classes.groupVerdict('g', 'a')]).toEqual([undefined, undefined]);
    classes.setJob('a', true);
    classes.setJob('b', false);
    classes.setGroup('g', 'a', false);
    classes.setGroup('g', 'b', true);
    expect(['a', 'b', 'c'].map((name) => classes.jobVerdict(name))).toEqual([true, false, undefined]);
    expect(['a', 'b', 'c'].map((name) => classes.groupVerdict('g', name))).toEqual([false, true, undefined]);
    expect(classes.groupVerdict('other', 'a')).toBeUndefined();
  });

  it('SC-51: what escapes is decided for each node, and is not remembered', () => {
    const job = of(true);
    job.setJob('a', true);
    job.setGroup('g', 'a', true);
    expect([job.escaped, job.jobVerdict('a'), job.groupVerdict('g', 'a')]).toEqual([true, undefined, true]);
    const group = of(false, 'g');
    group.setGroup('g', 'a', true);
    group.setGroup('other', 'a', false);
    expect([group.escaped, group.groupVerdict('g', 'a'), group.groupVerdict('other', 'a')]).toEqual([
      true,
      undefined,
      false,
    ]);
    expect([job.classes(), group.classes(), of().escaped]).toEqual([{}, {}, false]);
  });

  it('SC-55: a class is eligible if the job and any of its groups can run there', () => {
    const classes = of();
    for (const [name, job] of [
      ['a', true],
      ['b', true],
      ['c', false],
      ['d', true],
      ['e', false],
    ] as const)
      classes.setJob(name, job);
    for (const [group, name, eligible] of [
      ['g', 'a', false],
      ['h', 'a', true],
      ['g', 'b', false],
      ['h', 'b', false],
      ['g', 'c', true],
      ['g', 'f', true],
    ] as const)
      classes.setGroup(group, name, eligible);
    expect(classes.classes()).toEqual({ a: true, b: false, c: false, d: true, e: false, f: true });
  });

  it('SC-55: one version of the job that can run there is enough, in whatever order they come', () => {
    const [yes, no] = [new Map([['a', true]]), new Map([['a', false]])];
    expect([eligibleForAny([yes, no]), eligibleForAny([no, yes]), eligibleForAny([no, no])]).toEqual([
      { a: true },
      { a: true },
      { a: false },
    ]);
    expect(eligibleForAny([])).toEqual({});
  });
});
