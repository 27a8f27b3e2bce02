import type { EventFrame, StreamEvent } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import {
  ABOUT_HEADER,
  FrameAssembler,
  type FramePart,
  MAX_ABOUT_BYTES,
  MAX_PART_BYTES,
  partsOf,
  type StoredPart,
  storedPart,
} from './event-frame.js';

const event = (payload: Record<string, unknown>, key = 'k'): StreamEvent => ({
  Topic: 'Job',
  Type: 'JobRegistered',
  Key: key,
  Namespace: 'default',
  FilterKeys: null,
  Index: 7,
  Payload: payload,
});
const frame = (...events: StreamEvent[]): EventFrame => ({ Index: 7, Time: 1e18, Events: events });
const stored = (parts: readonly FramePart[]): StoredPart[] =>
  parts.map((part, n) => storedPart(n + 100, (name) => part.headers[name] ?? '', part.data));

describe('frames in EVENTS', () => {
  it('a frame that fits is one message, as it is', () => {
    const whole = frame(event({ Job: { ID: 'ü' } }));
    const parts = partsOf(whole);
    expect(parts).toHaveLength(1);
    const read = new FrameAssembler().addPart(stored(parts)[0]!)!;
    expect(Buffer.from(read.line).toString()).toBe(`${JSON.stringify(whole)}\n`);
    expect(read.frame).toEqual(whole);
    expect(read.index).toBe(7);
    expect(read.sequence).toBe(100);
  });

  it('EV-74: the parts of a large frame are the same whatever the order of members, and none is too large', () => {
    const text = 'x'.repeat(MAX_PART_BYTES);
    const one = partsOf(frame(event({ a: text, b: { c: 1, d: 'é'.repeat(1_000_000) } })));
    const other = partsOf(frame(event({ b: { d: 'é'.repeat(1_000_000), c: 1 }, a: text })));
    expect(one.length).toBeGreaterThan(2);
    expect(one.map((part) => part.data.length <= MAX_PART_BYTES)).toEqual(one.map(() => true));
    expect(other.length).toBe(one.length);
    expect(other.every((part, n) => Buffer.compare(part.data, one[n]!.data) === 0)).toBe(true);
    expect(other.map((part) => part.headers)).toEqual(one.map((part) => part.headers));
  });

  it('EV-74: a frame of many events is cut between them, the same in whatever order their members are', () => {
    const text = 'é'.repeat(1_000);
    const keys = Array.from({ length: 1_000 }, (_, n) => `key ${n}`);
    const one = partsOf(frame(...keys.map((key) => event({ a: text, b: key }, key))));
    const other = partsOf(frame(...keys.map((key) => event({ b: key, a: text }, key))));
    expect(one.length).toBeGreaterThan(2);
    expect(one.map((part) => part.data.length <= MAX_PART_BYTES)).toEqual(one.map(() => true));
    // Written in part by one and in part by the other.
    const mixed = one.map((part, n) => (n === 0 ? part : other[n]!));
    const assembler = new FrameAssembler();
    const read = stored(mixed).map((part) => assembler.addPart(part));
    expect(read.at(-1)!.frame).toEqual(frame(...keys.map((key) => event({ a: text, b: key }, key))));
  });

  it('EV-74: a reader has the frame when it has all parts, and none whose beginning was trimmed', () => {
    const large = frame(event({ a: 'x'.repeat(3 * MAX_PART_BYTES) }));
    const parts = stored(partsOf(large));
    const assembler = new FrameAssembler();
    for (const part of parts.slice(1)) expect(assembler.addPart(part)).toBeUndefined();
    const frames = parts.map((part) => assembler.addPart(part));
    expect(frames.slice(0, -1)).toEqual(parts.slice(1).map(() => undefined));
    expect(frames.at(-1)!.frame).toEqual(large);
  });

  it('EV-72: what too many events are about is left out of the header and found in the frame', () => {
    const many = frame(...Array.from({ length: MAX_ABOUT_BYTES / 10 }, (_, n) => event({}, `key ${n}`)));
    const parts = partsOf(many);
    expect(parts[0]!.headers[ABOUT_HEADER]).toBeUndefined();
    const read = new FrameAssembler().addPart(stored(parts)[0]!)!;
    expect(read.events[3]).toEqual({ topic: 'Job', namespace: 'default', keys: ['key 3'] });
  });

  it('headers are printable ASCII, whatever a job is called', () => {
    const [part] = partsOf(frame(event({}, 'é\r\nX: y\u0000\u{1f600}')));
    expect(part!.headers[ABOUT_HEADER]).toMatch(/^[ -~]+$/);
    expect(new FrameAssembler().addPart(stored([part!])[0]!)!.events[0]!.keys).toEqual(['é\r\nX: y\u0000\u{1f600}']);
  });
});
