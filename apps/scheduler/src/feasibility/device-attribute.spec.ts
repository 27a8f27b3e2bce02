import { describe, expect, it } from 'vitest';
import { deviceValueOf, orderOf, parseDeviceValue } from './device-attribute.js';

describe('literals', () => {
  it.each([
    ['12', { kind: 'amount', amount: 12, family: '' }],
    ['-1.5', { kind: 'amount', amount: -1.5, family: '' }],
    ['1e3', { kind: 'amount', amount: 1_000, family: '' }],
    ['1', { kind: 'amount', amount: 1, family: '' }],
    ['2 GiB', { kind: 'amount', amount: 2 ** 31, family: 'byte' }],
    ['2GB', { kind: 'amount', amount: 2e9, family: 'byte' }],
    ['1 kB', { kind: 'amount', amount: 1_000, family: 'byte' }],
    ['3.5 MiB/s', { kind: 'amount', amount: 3.5 * 2 ** 20, family: 'byte rate' }],
    ['1531 MHz', { kind: 'amount', amount: 1.531e9, family: 'hertz' }],
    ['250 mW', { kind: 'amount', amount: 0.25, family: 'watt' }],
    ['250 MW', { kind: 'amount', amount: 2.5e8, family: 'watt' }],
    ['true', { kind: 'boolean', value: true }],
    ['F', { kind: 'boolean', value: false }],
    ['Tesla V100', { kind: 'text' }],
    ['12 parsecs', { kind: 'text' }],
    ['GiB', { kind: 'text' }],
    ['', { kind: 'text' }],
  ])('SC-94: %j', (text, value) => {
    expect(parseDeviceValue(text)).toEqual({ text, ...value });
  });
});

it.each([
  ['byte', 'B', { Ki: 1_024, Mi: 1_024 ** 2, Gi: 1_024 ** 3, Ti: 1_024 ** 4, Pi: 1_024 ** 5, Ei: 1_024 ** 6 }],
  ['byte', 'B', { k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 }],
  ['byte rate', 'B/s', { Ki: 1_024, Mi: 1_024 ** 2, Gi: 1_024 ** 3, Ti: 1_024 ** 4, Pi: 1_024 ** 5, Ei: 1_024 ** 6 }],
  ['byte rate', 'B/s', { k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 }],
  ['hertz', 'Hz', { M: 1e6, G: 1e9 }],
  ['watt', 'W', { m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9 }],
])('SC-95: the units of the %s family', (family, unit, prefixes) => {
  for (const [prefix, amount] of Object.entries(prefixes))
    expect(parseDeviceValue(`1${prefix}${unit}`)).toMatchObject({ kind: 'amount', family, amount });
});

describe('attributes of a fingerprint', () => {
  const nothing = { Int: null, Float: null, String: null, Bool: null, Unit: '' };

  it.each([
    [{ ...nothing, Int: 8, Unit: 'GiB' }, '8 GiB', 0],
    [{ ...nothing, Int: 8_192, Unit: 'MiB' }, '8 GiB', 0],
    [{ ...nothing, Float: 0.5, Unit: 'kW' }, '500 W', 0],
    [{ ...nothing, Int: 7 }, '7.0', 0],
    [{ ...nothing, Bool: true }, 'true', 0],
    [{ ...nothing, String: 'x' }, 'x', 0],
    [{ ...nothing, Int: 1, Unit: 'GB' }, '1 GiB', -1],
    [{ ...nothing, Int: 9 }, '10', -1],
    [{ ...nothing, String: 'b' }, 'a', 1],
  ])('SC-95: %j against %j', (attribute, literal, sign) => {
    const value = deviceValueOf(attribute);
    expect(value && Math.sign(orderOf(value, parseDeviceValue(literal)) ?? Number.NaN)).toBe(sign);
  });

  it.each([
    [{ ...nothing, Int: 8, Unit: 'GiB' }, '8'],
    [{ ...nothing, Int: 8, Unit: 'GiB' }, '8 GiB/s'],
    [{ ...nothing, Int: 8, Unit: 'MHz' }, '8 W'],
    [{ ...nothing, Bool: true }, '1'],
    [{ ...nothing, String: '8' }, '8'],
    [{ ...nothing, Int: 8 }, 'eight'],
  ])('SC-95: %j cannot be compared with %j', (attribute, literal) => {
    const value = deviceValueOf(attribute);
    expect(value && orderOf(value, parseDeviceValue(literal))).toBeUndefined();
  });

  it('a bare text is one', () => {
    expect(deviceValueOf('418.40')).toEqual({ kind: 'text', text: '418.40' });
  });

  it('one that says nothing, or in a unit nobody knows, is not found', () => {
    expect([
      deviceValueOf(nothing),
      deviceValueOf(null),
      deviceValueOf({ ...nothing, Int: 3, Unit: 'furlong' }),
    ]).toEqual([undefined, undefined, undefined]);
  });
});
