/** Rounds after which the state does not resemble the seed any more. */
const WARM_UP_ROUNDS = 12;

/**
 * Random numbers from a seed: the same evaluation on the same state makes the same plan, byte for byte (SC-41), and on
 * another state another one. The generator is sfc32: four words of 32 bits, and a few additions and shifts for each
 * number, because every attempt shuffles all candidates.
 */
export class SeededRandom {
  private a: number;
  private b: number;
  private c = 0;
  private count = 1;

  constructor(seed: bigint) {
    const bits = BigInt.asUintN(64, seed);
    this.a = Number(bits & 0xffff_ffffn) | 0;
    this.b = Number(bits >> 32n) | 0;
    for (let round = 0; round < WARM_UP_ROUNDS; round++) this.next();
  }

  /**
   * The generator of an attempt: its seed is the last eight bytes of the evaluation's ID, mixed with the index of the
   * state (SC-41).
   */
  static of(evalId: string, index: number): SeededRandom {
    const tail = evalId.replaceAll('-', '').slice(-16);
    const id = /^[0-9a-f]{1,16}$/i.test(tail) ? BigInt(`0x${tail}`) : 0n;
    return new SeededRandom(id ^ BigInt(index));
  }

  /** In [0, 1), in steps of 2^-32. */
  next(): number {
    const sum = (this.a + this.b + this.count) | 0;
    this.count = (this.count + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  }

  /** Shuffles in place (Fisher–Yates). */
  shuffle<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i--) {
      const j = Math.floor(this.next() * (i + 1));
      const moved = items[i] as T;
      items[i] = items[j] as T;
      items[j] = moved;
    }
    return items;
  }
}
