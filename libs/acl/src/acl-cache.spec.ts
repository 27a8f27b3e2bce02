import { expect, it } from 'vitest';
import { AclCache } from './acl-cache.js';
import type { PolicySource } from './acl.js';
import { MAX_CACHED_ACLS } from './limits.js';

const policy = (name: string, modifyIndex: number, level = 'read'): PolicySource => ({
  name,
  modifyIndex,
  rules: `namespace "${name}" { policy = "${level}" }`,
});

it('OP-118, AU-221: rules are compiled once for a combination of names and ModifyIndexes, in whatever order', () => {
  const cache = new AclCache();
  const both = cache.get([policy('a', 1), policy('b', 2)]);
  expect(cache.get([policy('b', 2), policy('a', 1)])).toBe(both);
  expect(cache.get([policy('a', 1)])).not.toBe(both);
  expect(cache.get([policy('a', 3), policy('b', 2)])).not.toBe(both);
  expect(cache.size).toBe(3);
});

it('OP-118: a policy deleted and created again never answers for the one before', () => {
  const cache = new AclCache();
  expect(cache.get([policy('a', 1, 'write')]).allowsNamespace('a', 'submit-job')).toBe(true);
  expect(cache.get([policy('a', 9)]).allowsNamespace('a', 'submit-job')).toBe(false);
});

it('OP-118: after a power cut an index may mean other rules: they are compiled anew', () => {
  const cache = new AclCache();
  cache.get([policy('a', 1, 'write')]);
  expect(cache.get([policy('a', 1)]).allowsNamespace('a', 'submit-job')).toBe(false);
  expect(cache.size).toBe(1);
});

it('AU-221: 512 combinations are kept, and the least recently asked for goes first', () => {
  const cache = new AclCache();
  const first = cache.get([policy('p0', 1)]);
  const second = cache.get([policy('p1', 1)]);
  for (let n = 2; n < MAX_CACHED_ACLS; n++) cache.get([policy(`p${n}`, 1)]);
  expect(cache.size).toBe(512);
  expect(cache.get([policy('p0', 1)])).toBe(first);
  cache.get([policy('more', 1)]);
  expect(cache.size).toBe(512);
  expect(cache.get([policy('p0', 1)])).toBe(first);
  expect(cache.get([policy('p1', 1)])).not.toBe(second);
});

it('OP-118: names cannot be mistaken for each other, and a policy that cannot be read is not kept', () => {
  const cache = new AclCache();
  expect(cache.get([policy('a', 1), policy('b', 1)])).not.toBe(cache.get([{ ...policy('a', 1), name: 'a",1],["b' }]));
  const broken = { name: 'x', modifyIndex: 1, rules: 'namespace' };
  expect(() => cache.get([broken])).toThrow('The stored ACL policy "x" cannot be read');
  expect(cache.size).toBe(2);
});
