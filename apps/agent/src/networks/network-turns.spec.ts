import { describe, expect, it } from 'vitest';
import { NetworkTurns } from './network-turns.js';

/** Begins changes that end when the test says so. */
class Changes {
  readonly begun: string[] = [];
  private readonly ends = new Map<string, () => void>();

  constructor(private readonly turns: NetworkTurns) {}

  add(name: string, keys: () => readonly string[]): Promise<string> {
    return this.turns.runInTurn(keys, () => {
      this.begun.push(name);
      return new Promise((resolve) => this.ends.set(name, () => resolve(name)));
    });
  }

  async end(name: string): Promise<void> {
    this.ends.get(name)?.();
    await new Promise(setImmediate);
  }
}

describe('NetworkTurns', () => {
  it('NW-45: changes run side by side up to the limit, in order of arrival', async () => {
    const changes = new Changes(new NetworkTurns(2));
    const done = ['a', 'b', 'c', 'd'].map((name) => changes.add(name, () => [name]));
    expect(changes.begun).toEqual(['a', 'b']);
    await changes.end('b');
    expect(changes.begun).toEqual(['a', 'b', 'c']);
    await changes.end('a');
    await changes.end('c');
    await changes.end('d');
    expect(await Promise.all(done)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('NW-45, NW-147: changes with a common key run one at a time in order, and others pass them', async () => {
    const changes = new Changes(new NetworkTurns(3));
    void changes.add('stop', () => ['old', 'port 80']);
    void changes.add('start', () => ['new', 'port 80']);
    void changes.add('stop again', () => ['new']);
    void changes.add('other', () => ['other', 'port 81']);
    expect(changes.begun).toEqual(['stop', 'other']);
    await changes.end('stop');
    expect(changes.begun).toEqual(['stop', 'other', 'start']);
    await changes.end('start');
    expect(changes.begun).toEqual(['stop', 'other', 'start', 'stop again']);
  });

  it('NW-45: keys that a change no longer has hold nothing up', async () => {
    const changes = new Changes(new NetworkTurns(4));
    let isFirst = true;
    const first = (): string[] => (isFirst ? ['network nomad'] : []);
    for (const name of ['a', 'b', 'c']) void changes.add(name, first);
    expect(changes.begun).toEqual(['a']);
    isFirst = false;
    await changes.end('a');
    expect(changes.begun).toEqual(['a', 'b', 'c']);
  });

  it('NW-45: a change that fails tells its caller and gives its turn away', async () => {
    const turns = new NetworkTurns(1);
    const failed = turns.runInTurn(
      () => ['a'],
      () => Promise.reject(new Error('no luck')),
    );
    const next = turns.runInTurn(
      () => ['a'],
      async () => 'made',
    );
    await expect(failed).rejects.toThrow('no luck');
    expect(await next).toBe('made');
  });
});
