import { isUtf8 } from 'node:buffer';

/** A file is not valid UTF-8 (JS-10). */
export class NotUtf8 extends Error {
  override readonly name = 'NotUtf8';
  readonly summary = 'Invalid character encoding';
  readonly detail = 'All input files must be UTF-8 encoded. Ensure that UTF-8 encoding is selected in your editor.';

  constructor() {
    super();
    this.message = `${this.summary}; ${this.detail}`;
  }
}

/** @throws NotUtf8 */
export function utf8Text(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new NotUtf8();
  return bytes.toString('utf8');
}
