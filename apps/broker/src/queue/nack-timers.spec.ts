import { SimulatedTime } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { NackTimers } from './nack-timers.js';
import type { UnackedDelivery } from './tracked-evaluations.js';

const TIMEOUT_MS = 50;
let time: SimulatedTime;
let expired: string[];
let onExpired: (delivery: UnackedDelivery) => void;
let timers: NackTimers;
const delivery = (token: string): UnackedDelivery => ({ token }) as UnackedDelivery;
const [a, b, c] = [delivery('a'), delivery('b'), delivery('c')];

beforeEach(() => {
  time = new SimulatedTime();
  expired = [];
  onExpired = ({ token }) => void expired.push(token);
  timers = new NackTimers({ clock: time, timers: time, timeoutMs: TIMEOUT_MS, onExpired: (d) => onExpired(d) });
});

describe('the time that deliveries have', () => {
  it('EB-80: each ends when its own time is over, by one timer', () => {
    timers.start(a, time.nowMs());
    time.advance(20);
    timers.start(b, time.nowMs());
    expect(time.armedCount).toBe(1);
    time.advance(30);
    expect(expired).toEqual(['a']);
    time.advance(19);
    expect(expired).toEqual(['a']);
    time.advance(1);
    expect(expired).toEqual(['a', 'b']);
    expect(time.armedCount).toBe(0);
  });

  it('EB-89: started again, it has the whole time, and the others keep theirs', () => {
    timers.start(a, time.nowMs());
    timers.start(b, time.nowMs());
    time.advance(40);
    timers.stop(a);
    timers.start(a, time.nowMs());
    time.advance(10);
    expect(expired).toEqual(['b']);
    time.advance(40);
    expect(expired).toEqual(['b', 'a']);
  });

  it('EB-80: a clock that is set back by an hour makes none late by more than its own time', () => {
    let behindMs = 0;
    const clock = { nowMs: () => time.nowMs() - behindMs };
    timers = new NackTimers({ clock, timers: time, timeoutMs: TIMEOUT_MS, onExpired: (d) => onExpired(d) });
    timers.start(a, clock.nowMs());
    behindMs = 3_600_000;
    timers.start(b, clock.nowMs());
    time.advance(TIMEOUT_MS);
    expect(expired).toEqual(['b']);
    time.advance(TIMEOUT_MS);
    expect(expired).toEqual(['b', 'a']);
    expect(time.armedCount).toBe(0);
  });

  it('one that begins because another ended does not make a third one late', () => {
    timers.start(a, time.nowMs());
    time.advance(10);
    timers.start(b, time.nowMs());
    const again = delivery('again');
    onExpired = ({ token }) => {
      expired.push(token);
      if (token === 'a') timers.start(again, time.nowMs());
    };
    time.advance(40);
    time.advance(10);
    expect(expired).toEqual(['a', 'b']);
  });

  it('EB-90: stopping one that is stopped already leaves the others alone', () => {
    for (const one of [a, b, c]) timers.start(one, time.nowMs());
    timers.stop(b);
    timers.stop(b);
    timers.stop(a);
    timers.stop(a);
    time.advance(TIMEOUT_MS);
    expect(expired).toEqual(['c']);
    timers.stop(c);
    timers.start(b, time.nowMs());
    time.advance(TIMEOUT_MS);
    expect([expired, time.armedCount]).toEqual([['c', 'b'], 0]);
  });

  it('EB-114: cleared, none of them is left', () => {
    for (const one of [a, b]) timers.start(one, time.nowMs());
    timers.clear();
    expect(time.armedCount).toBe(0);
    time.advance(TIMEOUT_MS);
    expect(expired).toEqual([]);
    timers.start(c, time.nowMs());
    time.advance(TIMEOUT_MS);
    expect(expired).toEqual(['c']);
  });
});
