import { describe, expect, it } from 'vitest';
import { checkVariableItems, checkVariableLock, checkVariablePath } from './validate-variable.js';
import { encodeVariableMetadata, type Variable } from './variable.js';

const SECOND = 1e9;

describe('paths', () => {
  it.each([
    'a',
    'a/b',
    '~-_/Z9',
    'x'.repeat(128),
    'nomad/jobs',
    'nomad/jobs/a/b/c/d',
    'nomad/sentinel',
    'nomad/sentinel/x',
  ])('OP-190: %s is a path', (path) => expect(() => checkVariablePath(path)).not.toThrow());
  it.each(['a b', 'é', 'a.b', 'a\n', 'a%2f', '*', 'x'.repeat(129)])('OP-190: %j is none', (path) =>
    expect(() => checkVariablePath(path)).toThrow(`invalid path ${JSON.stringify(path)}`),
  );
  it.each(['nomad', 'nomad/', 'nomad/job', 'nomad/job-templates', 'nomad/job-templates/', 'nomad/job-templates/a/b'])(
    'OP-190: %s is reserved, and the text says what is not',
    (path) => expect(() => checkVariablePath(path)).toThrow('nomad/job-templates/<template>'),
  );
  it('OP-190: an empty path is missing; a template has one part', () => {
    expect(() => checkVariablePath('')).toThrow('missing variable path');
    expect(() => checkVariablePath('nomad/job-templates/a')).not.toThrow();
    expect(() => checkVariablePath('nomads/a')).not.toThrow();
  });
});

it('OP-191: at least one item, and 64 KiB of keys and values in bytes', () => {
  expect(() => checkVariableItems({})).toThrow('variable missing required Items object');
  expect(() => checkVariableItems({ key: 'x'.repeat(65_536 - 3) })).not.toThrow();
  for (const [key, length] of [
    ['key', 65_536 - 2],
    ['é', 65_536 - 1],
  ] as const)
    expect(() => checkVariableItems({ [key]: 'x'.repeat(length) })).toThrow(
      'variables are limited to 64KiB in total size',
    );
});

it.each<readonly [ttl: number, delay: number, error: string | undefined]>([
  [10, 0, undefined],
  [86_400, 1, undefined],
  [9.9, 1, 'TTL must be between 10 seconds and 24 hours'],
  [86_401, 1, 'TTL must be between 10 seconds and 24 hours'],
  [-1, 1, 'Lock delay and TTL must be positive'],
  [15, -1, 'Lock delay and TTL must be positive'],
  [15, 86_401, 'Lock delay must be at most 24 hours'],
])('OP-200: a lock of %d s with a delay of %d s: %s', (ttl, delay, error) => {
  const check = (): void => checkVariableLock({ TTL: ttl * SECOND, LockDelay: delay * SECOND });
  if (error === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(error);
});

it('OP-203, OP-205, EV-53: metadata has no items, and the lock as far as it may be seen', () => {
  const variable: Variable = {
    Namespace: 'default',
    Path: 'a',
    KeyID: 'key',
    Data: 'sealed',
    Lock: { ID: 'lock', TTL: 15 * SECOND, LockDelay: 60 * SECOND, AcquireIndex: 4 },
    CreateIndex: 3,
    CreateTime: 1,
    ModifyIndex: 4,
    ModifyTime: 2,
  };
  const rest = { Namespace: 'default', Path: 'a', CreateIndex: 3, CreateTime: 1, ModifyIndex: 4, ModifyTime: 2 };
  const lock = { TTL: '15s', LockDelay: '1m0s' };
  expect(encodeVariableMetadata(variable, 'hidden')).toEqual(rest);
  expect(encodeVariableMetadata(variable, 'withoutId')).toEqual({ ...rest, Lock: { ID: '', ...lock } });
  expect(encodeVariableMetadata(variable, 'whole')).toEqual({ ...rest, Lock: { ID: 'lock', ...lock } });
  expect(encodeVariableMetadata({ ...variable, Lock: null }, 'whole')).toEqual(rest);
});
