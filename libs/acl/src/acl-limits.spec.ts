import { expect, it } from 'vitest';
import { Acl } from './acl.js';
import { MAX_POLICY_BLOCKS, MAX_POLICY_BYTES } from './limits.js';

/** Of processor time, on a busy machine as well: a pattern that backtracks takes hours. */
const FAR_TOO_LONG_MS = 20_000;
const TIMEOUT_MS = 60_000;

function processorMs(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

const compile = (rules: string): Acl => Acl.compile([{ name: 'p', modifyIndex: 1, rules }]);

it(
  'OP-132: a policy of the largest size compiles and is asked within its limits',
  () => {
    const block = (n: number): string => `namespace "*${n}-*" { policy = "read" }\n`;
    const text = Array.from({ length: MAX_POLICY_BLOCKS }, (_, n) => block(n))
      .join('')
      .padEnd(MAX_POLICY_BYTES, '#');
    const ms = processorMs(() => {
      const compiled = compile(text);
      expect(compiled.allowsNamespace(`team-${MAX_POLICY_BLOCKS - 1}-x`, 'read-job')).toBe(true);
      expect(compiled.allowsNamespace('team-x', 'read-job')).toBe(false);
    });
    expect(ms).toBeLessThan(FAR_TOO_LONG_MS);
  },
  TIMEOUT_MS,
);

it(
  'OP-132: a label of stars takes no longer than its name',
  () => {
    const path = `${'*a'.repeat(60_000)}*b`;
    const compiled = compile(
      `namespace "${'*a'.repeat(63)}*b" { policy = "write" variables { path "${path}" { capabilities = ["read"] } } }`,
    );
    const ms = processorMs(() => {
      expect(compiled.allowsNamespace('a'.repeat(128), 'submit-job')).toBe(false);
      expect(compiled.allowsVariable('a'.repeat(128), 'a'.repeat(100_000), 'read')).toBe(false);
      expect(compiled.allowsVariable(`${'a'.repeat(63)}b`, `${'a'.repeat(60_000)}b`, 'read')).toBe(true);
    });
    expect(ms).toBeLessThan(FAR_TOO_LONG_MS);
  },
  TIMEOUT_MS,
);
