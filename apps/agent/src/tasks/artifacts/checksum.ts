import { createHash, type Hash } from 'node:crypto';

const FORMS: Readonly<Record<number, string>> = { 32: 'md5', 40: 'sha1', 64: 'sha256', 128: 'sha512' };

/** ChecksumError says that the download does not match the job's checksum, or that the checksum is malformed. */
export class ChecksumError extends Error {
  override readonly name = 'ChecksumError';
}

/**
 * Checksum compares the bytes that it reads with `<form>:<hex>`, or with hex alone, whose length determines the form.
 */
export class Checksum {
  private readonly hash: Hash;
  private readonly expected: string;
  private readonly form: string;

  /** @throws ChecksumError */
  constructor(text: string) {
    const [form = '', hex] = text.includes(':') ? text.split(':', 2) : [undefined, text];
    const digits = (hex ?? '').toLowerCase();
    const known = FORMS[digits.length];
    if (!known || !/^[0-9a-f]+$/.test(digits) || (form !== '' && form !== known))
      throw new ChecksumError(`checksum "${text}" is none of md5, sha1, sha256 or sha512`);
    this.form = known;
    this.expected = digits;
    this.hash = createHash(known);
  }

  update(chunk: Buffer): void {
    this.hash.update(chunk);
  }

  /** @throws ChecksumError */
  verify(): void {
    const actual = this.hash.digest('hex');
    if (actual !== this.expected)
      throw new ChecksumError(`checksums did not match: expected ${this.form}:${this.expected}, got ${actual}`);
  }
}
