import type { Constraint, NodeDevice, RequestedDevice } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import {
  affinityFor,
  isInstanceAllowed,
  matchedWeight,
  matchesByClass,
  matchesRequest,
  weightOf,
} from './device-match.js';

const attribute = (over: object) => ({ Int: null, Float: null, String: null, Bool: null, Unit: '', ...over });
const DEVICE = {
  Vendor: 'nvidia',
  Type: 'gpu',
  Name: '1080ti/rev2',
  Instances: [
    { ID: 'a', Healthy: true },
    { ID: 'b', Healthy: true },
  ],
  Attributes: {
    memory: attribute({ Int: 11, Unit: 'GiB' }),
    ecc: attribute({ Bool: true }),
    'unique.serial': attribute({ String: 's1' }),
  },
} as unknown as NodeDevice;
const request = (over: Partial<RequestedDevice> = {}): RequestedDevice =>
  ({ Name: 'gpu', Count: 1, Constraints: null, Affinities: null, ...over }) as RequestedDevice;
const rule = (LTarget: string, Operand: string, RTarget: string): Constraint => ({ LTarget, Operand, RTarget });
const holds = (...rules: Constraint[]) => matchesRequest(DEVICE, request({ Constraints: rules }));
const MEMORY = '${device.attr.memory}';

describe('the name of a device', () => {
  it.each([
    ['gpu', true],
    ['nvidia', false],
    ['nvidia/gpu', true],
    ['amd/gpu', false],
    ['nvidia/fpga', false],
    ['nvidia/gpu/1080ti/rev2', true],
    ['nvidia/gpu/1080ti', false],
    ['', false],
  ])('SC-91: %j: %s', (Name, matches) => {
    expect(matchesRequest(DEVICE, request({ Name }))).toBe(matches);
    expect(matchesByClass(DEVICE, request({ Name }))).toBe(matches);
  });
});

describe('constraints on a device', () => {
  it.each([
    [MEMORY, '=', '11 GiB', true],
    [MEMORY, '==', '11264 MiB', true],
    [MEMORY, 'is', '12 GiB', false],
    [MEMORY, '!=', '12 GiB', true],
    [MEMORY, 'not', '11 GiB', false],
    [MEMORY, '<', '12 GiB', true],
    [MEMORY, '<', '11 GiB', false],
    [MEMORY, '<=', '11 GiB', true],
    [MEMORY, '>', '11 GiB', false],
    [MEMORY, '>', '10 GiB', true],
    [MEMORY, '>=', '11 GiB', true],
    [MEMORY, '>=', '11 W', false],
    [MEMORY, '!=', '11 W', false],
    ['${device.attr.gone}', '=', '1', false],
    ['${device.attr.gone}', '!=', '1', true],
    ['${device.attr.gone}', '!=', '${device.attr.none}', false],
    ['${device.attr.gone}', '<', '1', false],
    ['${device.attr.toString}', '!=', '1', true],
    ['${device.attr.__proto__}', 'is_not_set', '', true],
    ['${device.attr.ecc}', '=', 'true', true],
    ['${device.model}', '=', '1080ti/rev2', true],
    ['${device.vendor}', '=', 'nvidia', true],
    ['${device.type}', '=', 'gpu', true],
    ['${device.vendor}', 'regexp', '^nv', true],
    ['${device.ids}', 'set_contains', 'b', true],
    ['${device.ids}', 'set_contains', 'c', false],
    ['${other}', '=', 'x', false],
  ])('SC-94, SC-95: %s %s %s: %s', (left, operand, right, expected) => {
    expect(holds(rule(left, operand, right))).toBe(expected);
  });

  it('SC-94: a device without attributes has none of them', () => {
    const bare = { ...DEVICE, Attributes: null };
    expect(matchesRequest(bare, request({ Constraints: [rule(MEMORY, 'is_not_set', '')] }))).toBe(true);
  });

  it('SC-94: all of them must hold', () => {
    expect(holds(rule(MEMORY, '>', '10 GiB'), rule(MEMORY, '<', '12 GiB'))).toBe(true);
    expect(holds(rule(MEMORY, '>', '10 GiB'), rule(MEMORY, '<', '11 GiB'))).toBe(false);
  });

  it('SC-345: a class is judged by what its nodes share, never by instances or unique attributes', () => {
    const byClass = (...rules: Constraint[]) => matchesByClass(DEVICE, request({ Constraints: rules }));
    expect(byClass(rule(MEMORY, '<', '11 GiB'))).toBe(false);
    expect(byClass(rule('${device.ids}', 'set_contains', 'c'))).toBe(true);
    expect(byClass(rule('c', 'set_contains', '${device.ids}'))).toBe(true);
    expect(byClass(rule('${device.attr.unique.serial}', '=', 'other'))).toBe(true);
    expect(byClass(rule('${device.ids}', 'set_contains', 'c'), rule(MEMORY, '<', '11 GiB'))).toBe(false);
  });

  it('SC-94: only the instances that a constraint names are allowed', () => {
    const allowed = (...rules: Constraint[]) =>
      ['a', 'b', 'c'].filter((id) => isInstanceAllowed(id, request({ Constraints: rules })));
    expect(allowed()).toEqual(['a', 'b', 'c']);
    expect(isInstanceAllowed('a', request())).toBe(true);
    expect(allowed(rule('${device.ids}', 'set_contains_any', 'a,c'))).toEqual(['a', 'c']);
    expect(allowed(rule('${device.ids}', 'set_contains', 'a,c'))).toEqual(['a', 'c']);
    expect(allowed(rule('${device.ids}', 'set_contains_all', 'a,c'))).toEqual(['a', 'c']);
    expect(allowed(rule('${device.ids}', '!=', 'a'))).toEqual(['b', 'c']);
    expect(allowed(rule(MEMORY, '<', '1'))).toEqual(['a', 'b', 'c']);
  });
});

describe('affinities of a device', () => {
  const Affinities = [
    { ...rule(MEMORY, '>', '10 GiB'), Weight: 30 },
    { ...rule('${device.vendor}', '=', 'nvidia'), Weight: -50 },
    { ...rule('${device.vendor}', '=', 'amd'), Weight: 20 },
  ];

  it('SC-93: the share of the sum of all weights that the device meets', () => {
    const asked = request({ Affinities });
    expect([weightOf(asked), matchedWeight(DEVICE, asked), affinityFor(DEVICE, asked)]).toEqual([100, -20, -0.2]);
    const light = request({ Affinities: [{ ...rule('${device.vendor}', '=', 'nvidia'), Weight: 1 }] });
    expect(affinityFor(DEVICE, light)).toBe(1);
    expect([weightOf(request()), matchedWeight(DEVICE, request()), affinityFor(DEVICE, request())]).toEqual([0, 0, 0]);
  });
});
