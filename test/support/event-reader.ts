/** An event as a subscriber gets it. */
export interface SeenEvent {
  readonly Topic: string;
  readonly Type: string;
  readonly Key: string;
  readonly Namespace: string;
  readonly Index: number;
  readonly Payload: Readonly<Record<string, unknown>>;
}

export interface SeenLine {
  readonly Index: number;
  readonly Time: number;
  readonly Events: readonly SeenEvent[];
}

/** How long a test waits for lines, milliseconds. */
const DEADLINE_MS = 20_000;

/** One connection to `/v1/event/stream`, read as it comes. */
export class EventReader {
  /** Complete lines as they came, heartbeats too. */
  readonly texts: string[] = [];
  /** Lines of events. */
  readonly lines: SeenLine[] = [];
  /** What came after the last complete line. */
  rest = '';
  /** The connection is over, from whichever side: whether the server ended the body, and every line of it was JSON. */
  readonly ended: Promise<boolean>;
  private onLines: (() => void)[] = [];

  private constructor(
    private readonly answer: Response,
    private readonly abort: AbortController,
  ) {
    this.ended = this.read();
  }

  /**
   * @param token secret of a token; empty: none is sent
   * @throws when the answer is not 200
   */
  static async open(url: string, token = ''): Promise<EventReader> {
    const abort = new AbortController();
    const headers: Record<string, string> = token === '' ? {} : { 'X-Nomad-Token': token };
    const answer = await fetch(url, { signal: abort.signal, headers });
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
    return new EventReader(answer, abort);
  }

  get headers(): Headers {
    return this.answer.headers;
  }

  /** The lines, once `enough` says so. @throws after a deadline, and when the connection ends before */
  async until(enough: (lines: readonly SeenLine[]) => boolean): Promise<readonly SeenLine[]> {
    let over = false;
    void this.ended.then(() => (over = true));
    const timer = setTimeout(() => this.close(), DEADLINE_MS);
    try {
      while (!enough(this.lines)) {
        if (over) throw new Error(`the stream ended after ${this.lines.length} lines: ${this.lines.at(-1)?.Index}`);
        await Promise.race([new Promise<void>((resolve) => this.onLines.push(resolve)), this.ended]);
      }
      return this.lines;
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.abort.abort();
  }

  private async read(): Promise<boolean> {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of this.answer.body ?? []) {
        const pieces = (this.rest + decoder.decode(chunk, { stream: true })).split('\n');
        this.rest = pieces.pop() ?? '';
        for (const text of pieces) this.take(text);
        for (const resolve of this.onLines.splice(0)) resolve();
      }
      return true;
    } catch {
      return false; // broken or closed: what is complete counts (EV-28)
    }
  }

  private take(text: string): void {
    this.texts.push(text);
    if (text !== '{}') this.lines.push(JSON.parse(text) as SeenLine);
  }
}
