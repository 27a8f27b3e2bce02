import { FakeTime } from '@waybill/model';
import type { Presence, SignOfLife } from '@waybill/rpc';
import { describe, expect, it } from 'vitest';
import { Peers, SIGN_EVERY_MS, SILENCE_MS } from './peers.js';

/** Processes that hear each other. */
class Neighbourhood implements Presence {
  readonly time = new FakeTime();
  changes = 0;
  private readonly hearers = new Set<(sign: SignOfLife) => void>();

  /** By how much the clock was set. */
  setMs = 0;

  begin(instance: string): Peers {
    const clock = { nowMs: () => this.time.nowMs() + this.setMs };
    const peers = new Peers(this, instance, clock, this.time);
    peers.start();
    return peers;
  }
  sign(sign: SignOfLife): void {
    for (const heard of this.hearers) heard(sign);
  }
  onSign(heard: (sign: SignOfLife) => void): () => void {
    this.hearers.add(heard);
    return () => this.hearers.delete(heard);
  }
  announceChange(): void {
    this.changes++;
  }
}

describe('processes of the service that watch each other', () => {
  it('each tells the machines that it has begun, and nothing more while all is well', async () => {
    const here = new Neighbourhood();
    const [a, b] = [here.begin('a'), here.begin('b')];
    await here.time.pass(60_000);
    expect([here.changes, a.size, b.size]).toEqual([2, 1, 1]);
  });

  it('one that has just begun and those that are there know of each other at once', () => {
    const here = new Neighbourhood();
    const [a, b, c] = [here.begin('a'), here.begin('b'), here.begin('c')];
    expect([a.size, b.size, c.size]).toEqual([2, 2, 2]);
  });

  it('one that falls silent is missed, once, by every other', async () => {
    const here = new Neighbourhood();
    here.begin('a');
    here.sign({ instance: 'killed', ends: false });
    await here.time.pass(SILENCE_MS - 1);
    expect(here.changes).toBe(1);
    await here.time.pass(SIGN_EVERY_MS);
    expect(here.changes).toBe(2);
    await here.time.pass(60_000);
    expect(here.changes).toBe(2);
  });

  it('one that ends in good order is not missed', async () => {
    const here = new Neighbourhood();
    const [a, b] = [here.begin('a'), here.begin('b')];
    await here.time.pass(SIGN_EVERY_MS);
    b.stop();
    await here.time.pass(60_000);
    expect([here.changes, a.size, b.size]).toEqual([2, 0, 0]);
    a.stop();
    expect(here.time.pending).toBe(0);
  });

  it('one that stood still itself does not blame the others', async () => {
    const here = new Neighbourhood();
    const a = here.begin('a');
    here.sign({ instance: 'b', ends: false });
    here.time.freeze(60_000);
    await here.time.pass(0);
    expect([here.changes, a.size]).toEqual([1, 1]);
    await here.time.pass(SILENCE_MS);
    expect([here.changes, a.size]).toEqual([2, 0]);
  });

  it('one that stood still for just as long as a silence does not blame the others', async () => {
    const here = new Neighbourhood();
    const a = here.begin('a');
    here.sign({ instance: 'b', ends: false });
    here.time.freeze(SILENCE_MS);
    await here.time.pass(0);
    expect([here.changes, a.size]).toEqual([1, 1]);
  });

  it.each([-3_600_000, 3_600_000])(
    'a clock that is set by %d ms blames nobody, and hides nobody who is gone',
    async (ms) => {
      const here = new Neighbourhood();
      const a = here.begin('a');
      here.sign({ instance: 'b', ends: false });
      here.setMs = ms;
      await here.time.pass(SIGN_EVERY_MS);
      expect([here.changes, a.size]).toEqual([1, 1]);
      await here.time.pass(SILENCE_MS);
      expect([here.changes, a.size]).toEqual([2, 0]);
    },
  );
});
