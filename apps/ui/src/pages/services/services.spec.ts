import { expect, it } from 'vitest';
import { checksOf, stateOfInstance } from './check-state.js';
import { filteredServices } from './service-list.js';

const all = [
  { Namespace: 'prod', Services: [{ ServiceName: 'web', Tags: ['public'] }] },
  {
    Namespace: 'default',
    Services: [
      { ServiceName: 'web', Tags: [] },
      { ServiceName: 'db', Tags: ['Primary'] },
    ],
  },
];
const found = (filter: object) => filteredServices(all, filter).map(({ namespace, name }) => `${namespace}/${name}`);

it('lists services by name, and finds them by name and tag', () => {
  expect(found({})).toEqual(['default/db', 'default/web', 'prod/web']);
  expect(found({ search: ' primary' })).toEqual(['default/db']);
  expect(found({ search: 'web', namespace: 'prod' })).toEqual(['prod/web']);
});

it('an instance is as bad as the worst of its checks', () => {
  const of = (...states: ('success' | 'failure' | 'pending')[]) =>
    stateOfInstance(states.map((Status) => ({ Status })));
  expect(of()).toBeUndefined();
  expect(of('success', 'success')).toBe('passing');
  expect(of('success', 'pending')).toBe('pending');
  expect(of('pending', 'failure', 'success')).toBe('failing');
});

it('the checks of another service of the allocation do not count', () => {
  const check = (Service: string) =>
    ({
      ID: Service,
      Service,
      Check: 'up',
      Group: '',
      Mode: 'healthiness',
      Output: '',
      Status: 'success',
      Timestamp: 0,
    }) as const;
  expect(checksOf({ a: check('web'), b: check('db') }, 'web')).toEqual([check('web')]);
  expect(checksOf(undefined, 'web')).toEqual([]);
});
