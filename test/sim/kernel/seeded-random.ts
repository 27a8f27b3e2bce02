/**
 * Chance from a seed: the sfc32 generator, the same numbers on every machine. Each part of a simulation takes a fork of
 * its own by name, so that what one part draws does not shift what another gets: shrinking depends on that.
 */
export class SeededRandom {
  private a: number;
  private b: number;
  private c: number;
  private d = 1;

  constructor(private readonly seed: string) {
    this.a = hashOf(`${seed}/a`);
    this.b = hashOf(`${seed}/b`);
    this.c = hashOf(`${seed}/c`);
    for (let warmUp = 0; warmUp < 12; warmUp++) this.next();
  }

  /** In [0, 1). */
  readonly next = (): number => {
    const sum = (this.a + this.b + this.d) | 0;
    this.d = (this.d + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = ((this.c << 21) | (this.c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };

  fork(name: string): SeededRandom {
    return new SeededRandom(`${this.seed}/${name}`);
  }

  /** A whole number in [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** @throws RangeError for an empty list */
  pick<T>(list: readonly T[]): T {
    const [first] = list;
    if (first === undefined) throw new RangeError('nothing to pick from');
    return list[this.below(list.length)] ?? first;
  }

  /** A version 4 UUID. */
  readonly uuid = (): string => {
    const hex = (digits: number): string =>
      Math.floor(this.next() * 16 ** digits)
        .toString(16)
        .padStart(digits, '0');
    const variant = (8 + this.below(4)).toString(16);
    return `${hex(8)}-${hex(4)}-4${hex(3)}-${variant}${hex(3)}-${hex(6)}${hex(6)}`;
  };
}

/** FNV-1a with a final mix, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  return hash | 0;
}
