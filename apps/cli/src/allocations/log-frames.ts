/** One piece of a file in the API's stream. A heartbeat has no members (API-78). */
export interface LogFrame {
  readonly Data?: string;
  readonly FileEvent?: string;
}

/** Longest accepted frame. Frames of the API are below 100 KiB. */
const MAX_FRAME_CHARS = 16 * 1024 * 1024;
const QUOTE = 34;
const BACKSLASH = 92;
const OPEN = 123;
const CLOSE = 125;

/**
 * Splits a stream of concatenated JSON objects into objects. Holds the beginning of one frame, at most MAX_FRAME_CHARS.
 */
export class LogFrameDecoder {
  private readonly decoder = new TextDecoder();
  private held = '';
  private depth = 0;
  private inString = false;
  private escaped = false;

  /** Returns the frames that are now complete. @throws SyntaxError if the text is not such a stream */
  push(bytes: Uint8Array): LogFrame[] {
    const text = this.decoder.decode(bytes, { stream: true });
    const frames: LogFrame[] = [];
    let from = 0;
    for (let i = 0; i < text.length; i++) {
      if (!this.closesFrame(text.charCodeAt(i))) continue;
      frames.push(JSON.parse(this.held + text.slice(from, i + 1)) as LogFrame);
      this.held = '';
      from = i + 1;
    }
    this.held += text.slice(from);
    if (this.held.length > MAX_FRAME_CHARS) throw new SyntaxError('the answer is not a stream of frames');
    return frames;
  }

  private closesFrame(code: number): boolean {
    if (this.inString) {
      if (this.escaped) this.escaped = false;
      else if (code === BACKSLASH) this.escaped = true;
      else if (code === QUOTE) this.inString = false;
      return false;
    }
    if (code === QUOTE) this.inString = true;
    else if (code === OPEN) this.depth++;
    else if (code === CLOSE) return --this.depth === 0;
    return false;
  }
}

/** Yields the bytes of a file from its frames. Heartbeats and empty frames are skipped (CL-415). @throws SyntaxError */
export async function* fileBytes(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new LogFrameDecoder();
  for await (const chunk of body)
    for (const { Data } of decoder.push(chunk)) if (Data) yield Buffer.from(Data, 'base64');
}
