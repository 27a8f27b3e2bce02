const NEWLINES = new Set([10, 13]);
const DOT = '.'.charCodeAt(0);

/**
 * Watches what is typed for the escape character: at the beginning of a line and followed by a dot it ends the session;
 * doubled it is sent once; anywhere else it is a character like others (CL-433).
 * States: at the beginning of a line → behind an escape character there, or within the line.
 */
export class ExecEscape {
  private atLineStart = true;
  private pending = false;
  private readonly sign: number;

  /** @param sign one character; undefined: none ends the session */
  constructor(sign: string | undefined) {
    this.sign = sign === undefined ? -1 : sign.charCodeAt(0);
  }

  /** What is sent of the typed bytes, and whether the session is to end. */
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
