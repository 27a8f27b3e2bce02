const NEWLINES = new Set([10, 13]);
const DOT = '.'.charCodeAt(0);

/**
 * Detects the escape character in the typed input. At the start of a line, followed by a dot, it ends the session.
 * Doubled, it is sent once. Everywhere else it is an ordinary character (CL-433). States: start of a line → after an
 * escape character there, or within the line.
 */
export class ExecEscape {
  private atLineStart = true;
  private pending = false;
  private readonly sign: number;

  /** @param sign the escape character, or undefined if none is configured */
  constructor(sign: string | undefined) {
    this.sign = sign === undefined ? -1 : sign.charCodeAt(0);
  }

  /** Returns the bytes to send, and whether the session should end. */
  pass(typed: Uint8Array): { readonly bytes: Buffer; readonly ends: boolean } {
    const sent: number[] = [];
    for (const byte of typed) {
      if (this.pending) {
        this.pending = false;
        if (byte === DOT) return { bytes: Buffer.from(sent), ends: true };
        if (byte !== this.sign) sent.push(this.sign);
      } else if (this.atLineStart && byte === this.sign) {
        this.pending = true;
        continue;
      }
      sent.push(byte);
      this.atLineStart = NEWLINES.has(byte);
    }
    return { bytes: Buffer.from(sent), ends: false };
  }
}
