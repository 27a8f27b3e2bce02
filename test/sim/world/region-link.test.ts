import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../kernel/seeded-random.js';
import { Simulator } from '../kernel/simulator.js';
import { RegionLink } from './region-link.js';
import { World } from './world.js';

describe('the connections to another region', () => {
  it('are cut without anybody knowing, then known to be down, and up again some time after the cut', async () => {
    const simulator = new Simulator();
    const random = new SeededRandom('link');
    const east = new World(simulator, random, 'east');
    const process = east.spawn('of west');
    const link = new RegionLink(simulator, random, east);
    const arrived: string[] = [];
    const send = (what: string): void => link.toNats(process, what, () => arrived.push(what));
    const pass = (ms: number): Promise<void> => simulator.runUntil(simulator.nowMs + ms);

    send('before');
    await pass(100);
    send('on its way');
    link.cut(60_000);
    send('while it is cut');
    expect(link.isUp).toBe(true);
    await pass(30_000);
    expect(link.isUp).toBe(false);
    await pass(40_000);
    expect(link.isUp).toBe(true);
    send('after');
    await pass(100);
    expect(arrived).toEqual(['before', 'after']);
  });
});
