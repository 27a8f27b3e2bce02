import { expect, it } from 'vitest';
import { idempotencyTokenOf, namespaceOfWrite, namespacesOfWrite } from './write-options.js';

it('API-28: the namespace is the query parameter, else the member of the body in any case, else `default`', () => {
  expect(namespaceOfWrite({ namespace: 'a' }, { Namespace: 'b' })).toBe('a');
  expect(namespaceOfWrite({ namespace: '' }, { Namespace: 'b' })).toBe('b');
  expect(namespaceOfWrite({}, { namespace: 'b' })).toBe('b');
  for (const body of [undefined, null, {}, { Namespace: '' }, { Namespace: null }, [], 7])
    expect(namespaceOfWrite({}, body)).toBe('default');
  expect(() => namespaceOfWrite({}, { Namespace: 7 })).toThrow('Namespace');
});

it('API-28, API-44: `*` in a body stands for all namespaces, as in the query', () => {
  expect(namespacesOfWrite({}, { Namespace: '*' })).toBe('*');
  expect(namespacesOfWrite({ namespace: 'a' }, { Namespace: '*' })).toEqual(['a']);
});

it('API-28, API-177: the idempotency token is the query parameter, else the member of the body', () => {
  expect(idempotencyTokenOf({ idempotency_token: 'q' }, { IdempotencyToken: 'b' })).toBe('q');
  expect(idempotencyTokenOf({}, { IdempotencyToken: 'b' })).toBe('b');
  expect(idempotencyTokenOf({}, {})).toBe('');
});
