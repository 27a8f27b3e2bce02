/**
 * Everything that happened in a run, as one number: two runs are the same if and only if, for all practical purposes,
 * their hashes are. Two 32-bit lanes of FNV-1a with different primes. Cost: the length of what is added.
 */
export class History {
  private low = 0x811c9dc5;
  private high = 0x9e3779b9;

  add(text: string): void {
    let { low, high } = this;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      low = Math.imul(low ^ code, 0x01000193);
      high = Math.imul(high ^ code, 0x85ebca6b) ^ (high >>> 15);
    }
    this.low = low;
    this.high = high;
  }

  /** A moment, milliseconds with fractions: all of the number without making text of it. */
  addTime(ms: number): void {
    const whole = Math.floor(ms);
    this.addWord(whole / 2 ** 32);
    this.addWord(whole);
    this.addWord((ms - whole) * 2 ** 32);
  }

  private addWord(word: number): void {
    this.low = Math.imul(this.low ^ word, 0x01000193);
    this.high = Math.imul(this.high ^ word, 0x85ebca6b) ^ (this.high >>> 15);
  }

  get hash(): string {
    const hex = (lane: number): string => (lane >>> 0).toString(16).padStart(8, '0');
    return `${hex(this.high)}${hex(this.low)}`;
  }
}
