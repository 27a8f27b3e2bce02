import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { ServiceChoice } from './service-choice.js';
import { serviceNames } from './service-names.js';

const { aServiceRegistration } = fixtures;

describe('lists of services', () => {
  it('each name once per namespace, with the tags of all, sorted', () => {
    const registrations = [
      aServiceRegistration({ ServiceName: 'web', Tags: ['b', 'a'] }),
      aServiceRegistration({ ServiceName: 'web', Tags: ['a', 'c'] }),
      aServiceRegistration({ ServiceName: 'db' }),
      aServiceRegistration({ ServiceName: 'web', Namespace: 'apps', Tags: ['x'] }),
    ];
    expect(serviceNames(registrations)).toEqual([
      { Namespace: 'apps', Services: [{ ServiceName: 'web', Tags: ['x'] }] },
      {
        Namespace: 'default',
        Services: [
          { ServiceName: 'db', Tags: [] },
          { ServiceName: 'web', Tags: ['a', 'b', 'c'] },
        ],
      },
    ]);
  });

  it('choose: the same for the same key, others for others, and stable when one goes', () => {
    const all = Array.from({ length: 20 }, (_, i) => aServiceRegistration({ ID: `id-${i}` }));
    const chosen = (choose: string, from = all) =>
      ServiceChoice.of({ choose })!
        .from(from)
        .map(({ ID }) => ID);
    expect(chosen('3|client-1')).toHaveLength(3);
    expect(chosen('3|client-1', all.toReversed())).toEqual(chosen('3|client-1'));
    const keys = Array.from({ length: 10 }, (_, i) => chosen(`1|client-${i}`)[0]);
    expect(new Set(keys).size).toBeGreaterThan(3);
    const [first, ...rest] = chosen('3|client-1');
    const without = all.filter(({ ID }) => ID !== first);
    expect(chosen('2|client-1', without)).toEqual(rest);
    expect(chosen('50|client-1')).toHaveLength(20);
  });

  it('choose: anything else is refused, nothing is no choice', () => {
    expect(ServiceChoice.of({})).toBeUndefined();
    for (const choose of ['x', '1', '0|a', '-1|a', '1|', '|a']) expect(() => ServiceChoice.of({ choose })).toThrow();
  });
});
