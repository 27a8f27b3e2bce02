import { describe, expect, it } from 'vitest';
import { checkIndexOf, namespaceOfWrite, operationOf, readVariable } from '../variable-request.js';
import { MAX_LOCK_ID_BYTES, variableDelete, variableWrite } from './variable-write.js';

const owner = { Namespace: 'default', Path: 'app/config' };
const { Path } = owner;
const sealed = { KeyID: 'key', Data: 'c2VhbGVk' };
const given = (body: object) => readVariable(Buffer.from(JSON.stringify(body)));

/** The transaction that a request asks for, sealed. */
function change(body: object, operation: Parameters<typeof variableWrite>[2]) {
  const wanted = variableWrite(owner, given(body), operation, () => 'new lock');
  return 'change' in wanted ? wanted.change : wanted.seal(sealed);
}
const Items = { user: 'app' };
const write = { op: 'write' } as const;
const acquire = { op: 'lock-acquire' } as const;
const release = { op: 'lock-release' } as const;

describe('what a query asks for', () => {
  it('OP-196, OP-199, API-258: a write, a checked one, or one lock operation', () => {
    expect(operationOf({})).toEqual({ op: 'write' });
    expect(operationOf({ cas: '0' })).toEqual({ op: 'cas', checkIndex: 0 });
    for (const op of ['lock-acquire', 'lock-release', 'lock-renew']) expect(operationOf({ [op]: '' })).toEqual({ op });
    expect(() => operationOf({ 'lock-acquire': '', 'lock-renew': '' })).toThrow('multiple lock operations');
    expect(() => operationOf({ 'lock-acquire': '', cas: '0' })).toThrow("CAS can't be used with lock operations");
  });
  it.each(['x', '-1', '1.5', '18446744073709551616'])('OP-196: cas=%s is refused', (cas) =>
    expect(() => checkIndexOf({ cas })).toThrow(`can not parse cas: strconv.ParseUint: parsing "${cas}"`),
  );
  it('OP-192: the namespace of the body wins, and all namespaces are no place to write to', () => {
    expect(namespaceOfWrite({ namespace: 'query' }, { Namespace: 'body' })).toBe('body');
    expect(namespaceOfWrite({ namespace: 'query' }, { Namespace: '' })).toBe('query');
    expect(namespaceOfWrite({}, { Namespace: '' })).toBe('default');
    for (const query of [{ namespace: '*' }, {}])
      expect(() => namespaceOfWrite(query, { Namespace: 'namespace' in query ? '' : '*' })).toThrow(
        'can not target wildcard ("*")namespace',
      );
  });
});

describe('what is written', () => {
  it('OP-195, OP-196: items under the lock that the writer names, or none', () => {
    expect(change({ Items }, write)).toEqual({ Op: 'set', Path, LockID: '', ...sealed });
    expect(change({ Items, Lock: { ID: 'mine' } }, { op: 'cas', checkIndex: 7 })).toEqual({
      Op: 'cas',
      Path,
      LockID: 'mine',
      CheckIndex: 7,
      ...sealed,
    });
    for (const Lock of [{ TTL: '15s' }, { LockDelay: 1 }])
      expect(() => change({ Items, Lock }, write)).toThrow('variable should not contain lock definition');
    for (const operation of [write, acquire])
      expect(() => change({}, operation)).toThrow('variable missing required Items object');
  });

  it('OP-200: a lock has an ID of its own, or that of its holder, and the usual times where none are said', () => {
    const taken = { Op: 'lock-acquire', Path, ...sealed };
    expect(change({ Items }, acquire)).toEqual({ ...taken, Lock: { ID: 'new lock', TTL: 15e9, LockDelay: 15e9 } });
    expect(change({ Items, Lock: { ID: 'mine', TTL: '1m', LockDelay: 5e9 } }, acquire)).toEqual({
      ...taken,
      Lock: { ID: 'mine', TTL: 60e9, LockDelay: 5e9 },
    });
    expect(() => change({ Items, Lock: { TTL: '9s' } }, acquire)).toThrow('TTL must be between');
    expect(() => change({ Items, Lock: { ID: 'x'.repeat(MAX_LOCK_ID_BYTES + 1) } }, acquire)).toThrow('a lock ID has');
  });

  it('OP-201: a release names its lock and brings no items', () => {
    expect(change({ Lock: { ID: 'mine' } }, release)).toEqual({ Op: 'lock-release', Path, LockID: 'mine' });
    expect(() => change({ Lock: { ID: 'mine' }, Items }, release)).toThrow(
      "lock release operation doesn't take variable items",
    );
    for (const body of [{}, { Lock: { ID: '' } }])
      expect(() => change(body, release)).toThrow('missing lock information');
  });

  it('OP-197, OP-201: a deletion, checked or not, under a lock or none', () => {
    expect(variableDelete(Path, null, undefined)).toEqual({ Op: 'delete', Path, LockID: '' });
    expect(variableDelete(Path, { ID: 'mine', TTL: 0, LockDelay: 0 }, 0)).toEqual({
      Op: 'delete-cas',
      Path,
      LockID: 'mine',
      CheckIndex: 0,
    });
  });
});
