import { expect, it } from 'vitest';
import { capacityChange } from './expand-csi-volume.js';

const sizes = (RequestedCapacityMin: number, RequestedCapacityMax: number) => ({
  RequestedCapacityMin,
  RequestedCapacityMax,
});
const min = (max: string, than: string) => `max requested capacity (${max}) less than or equal to min (${than})`;
const current = (max: string, than: string) =>
  `max requested capacity (${max}) less than or equal to current (${than})`;

it('VL-50: one request after the other, on a volume whose plugin gives the minimum', () => {
  let volume = { Capacity: 0, ...sizes(0, 0) };
  /** Stores what comes of a request; answers the sizes as they stand, or the error. */
  const ask = (lower: number, upper: number): number[] | string => {
    const change = capacityChange(volume, sizes(lower, upper));
    if (change.kind === 'refused') return change.error;
    if (change.kind === 'stored') volume = { ...volume, ...change.requested };
    if (change.kind === 'expanded') volume = { ...change.requested, Capacity: change.requested.RequestedCapacityMin };
    return [volume.RequestedCapacityMin, volume.RequestedCapacityMax, volume.Capacity];
  };
  expect(ask(1000, 2000)).toEqual([1000, 2000, 1000]);
  expect(ask(0, 0)).toEqual([1000, 2000, 1000]);
  expect(ask(1500, 2000)).toEqual([1500, 2000, 1500]);
  expect(ask(500, 2000)).toEqual([500, 2000, 1500]);
  expect(ask(500, 5000)).toEqual([500, 5000, 1500]);
  expect(ask(3, 2)).toBe(min('2 B', '3 B'));
  expect(ask(0, 2)).toBe(current('2 B', '1.5 kB'));
});

it.each([
  ['VL-43', sizes(0, 0), { kind: 'none' }],
  ['VL-43', sizes(10, 20), { kind: 'none' }],
  ['VL-44', sizes(30e6, 20e6), { kind: 'refused', error: min('20 MB', '30 MB') }],
  ['VL-45', sizes(0, 14), { kind: 'refused', error: current('14 B', '15 B') }],
  ['VL-46', sizes(5, 20), { kind: 'stored', requested: sizes(5, 20) }],
  ['VL-46', sizes(10, 50), { kind: 'stored', requested: sizes(10, 50) }],
  ['VL-46', sizes(0, 50), { kind: 'stored', requested: sizes(0, 50) }],
  ['VL-51', sizes(15, 0), { kind: 'reached', requested: sizes(15, 0) }],
  ['VL-47', sizes(16, 0), { kind: 'expanded', requested: sizes(16, 0) }],
])('%s: %j of a volume of 15 bytes', (_, given, change) => {
  expect(capacityChange({ Capacity: 15, ...sizes(10, 20) }, given)).toEqual(change);
});
