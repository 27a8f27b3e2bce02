/**
 * Random numbers from a seed: the same evaluation on the same state makes the same plan, byte for byte (SC-41), and
 * another state another one. Mixing by SplitMix64, 53 bits per number.
 */
export class SeededRandom {
  private state: bigint;

  constructor(seed: bigint) {
    this.state = BigInt.asUintN(64, seed);
  }

  /** SC-41: last eight bytes of the evaluation's id, mixed with the index of the state. */
  static of(evalId: string, index: number): SeededRandom {
    const tail = evalId.replaceAll('-', '').slice(-16);
    const id = /^[0-9a-f]{1,16}$/i.test(tail) ? BigInt(`0x${tail}`) : 0n;
    return new SeededRandom(id ^ BigInt(index));
  }

  /** In [0, 1). */
  next(): number {
    this.state = BigInt.asUintN(64, this.state + 0x9e3779b97f4a7c15n);
    let z = this.state;
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return Number((z ^ (z >> 31n)) >> 11n) / 2 ** 53;
  }

  /** Fisher–Yates, in place. */
  shuffle<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i--) {
      const j = Math.floor(this.next() * (i + 1));
      const a = items[i];
      const b = items[j];
      if (a === undefined || b === undefined) continue;
      items[i] = b;
      items[j] = a;
    }
    return items;
  }
}
