import { Acl } from '@waybill/acl';
import { describe, expect, it } from 'vitest';
import { anonymous } from './caller.js';
import { inList, inQuery, type Need, ofObject, open } from './needs.js';
import { RequestAccess } from './request-access.js';

const EXISTING = ['default', 'prod', 'prod-eu', 'test'];
const callerWith = (rules: string) => anonymous(Acl.compile([{ name: 'p', modifyIndex: 1, rules }]));
const accessOf = (rules: string, need: Need, queried = 'default'): RequestAccess =>
  new RequestAccess(callerWith(rules), need, queried, async () => EXISTING);
const READ = ofObject('read-job');

describe('objects that are read by their ID', () => {
  it('OP-141: the namespace of the object decides, not the one of the query', () => {
    const access = accessOf('namespace "prod" { policy = "read" }', READ);
    expect(access.visible({ Namespace: 'prod' })).toEqual({ Namespace: 'prod' });
  });

  it('OP-142: one that may not be seen is unknown to those who may look in the namespace of the request', () => {
    const access = accessOf('namespace "default" { policy = "read" }', READ);
    expect(access.visible({ Namespace: 'prod' })).toBeUndefined();
    expect(access.visible(undefined)).toBeUndefined();
  });

  it('OP-142: for others the answer is the same whether it exists or not', () => {
    const access = accessOf('namespace "test" { policy = "read" }', READ);
    expect(() => access.visible({ Namespace: 'prod' })).toThrow('Permission denied');
    expect(() => access.visible(undefined)).toThrow('Permission denied');
    expect(() => access.allVisible([{ Namespace: 'prod' }])).toThrow('Permission denied');
  });
});

describe('lists', () => {
  it('OP-140: of all namespaces the caller sees those in which they have the capability', async () => {
    const rules = 'namespace "prod*" { policy = "read" }\nnamespace "prod-eu" { policy = "deny" }';
    expect(await accessOf(rules, inList('list-jobs')).namespaces('*')).toEqual(['prod']);
  });

  it('OP-140: rights in namespaces that do not exist give an empty list, no rights at all a refusal', async () => {
    expect(await accessOf('namespace "gone" { policy = "read" }', inList('list-jobs')).namespaces('*')).toEqual([]);
    await expect(accessOf('node { policy = "read" }', inList('list-jobs')).namespaces('*')).rejects.toThrow(
      'Permission denied',
    );
  });

  it('a namespace that is asked for by name must be allowed', async () => {
    const access = accessOf('namespace "prod" { policy = "read" }', inList('list-jobs'));
    expect(await access.namespaces(['prod'])).toEqual(['prod']);
    await expect(access.namespaces(['test'])).rejects.toThrow('Permission denied');
  });
});

describe('what a route left to its handler', () => {
  it('a handler that asks on a route that declares no right fails, whoever asks', async () => {
    const access = new RequestAccess(anonymous(Acl.management), open, 'default', async () => EXISTING);
    expect(() => access.inNamespace('default')).toThrow('does not declare');
    expect(() => access.visible({ Namespace: 'default' })).toThrow('does not declare');
    await expect(access.namespaces('*')).rejects.toThrow('does not declare');
  });

  it('is asked only once the handler has asked', () => {
    const access = accessOf('', READ);
    expect(access.asked).toBe(false);
    access.has({ kind: 'management' });
    expect(access.asked).toBe(true);
    expect(accessOf('', inQuery('read-job')).asked).toBe(true);
  });
});
