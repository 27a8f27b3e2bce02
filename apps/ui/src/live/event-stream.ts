import { type Change, readLine, splitLines } from './change.js';
import { CONNECTING, type StreamStatus } from './stream-status.js';
import { VISIBLE_TOPICS } from './topics.js';

/**
 * The time in milliseconds without a line after which the connection counts as dead. A heartbeat comes every 30 s
 * (EV-24).
 */
const SILENCE_MS = 45_000;
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 5_000;
/** An index beyond all others. The stream then begins with future events (EV-66). */
const FROM_NOW = Number.MAX_SAFE_INTEGER;

export interface StreamListener {
  readonly onStatus: (status: StreamStatus) => void;
  readonly onChanges: (changes: readonly Change[]) => void;
  /** Is called when events may be lost, so that everything must be read again. */
  readonly onGap: () => void;
}

export interface StreamMeans {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly nowMs: () => number;
  /** Resolves after the time, or when the signal is aborted. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Follows the event stream for one token, for as long as the signal is not aborted. Remembers the last index it has heard
 * of and comes back with the next one, so nothing is missed or repeated (EV-61), whether the API was restarted or the
 * laptop slept. When the stream no longer keeps what was missed, or the state was restored, it reports a gap.
 *
 * connecting → live ⇄ reconnecting → refused, or stopped by the signal. Cost: one connection and the line that is being
 * read. Retries are at most LONGEST_RETRY_MS apart.
 */
export class EventStream {
  /** The index of the last line. It is undefined before the first connection. */
  private position: number | undefined;
  private lastChangeMs = 0;

  constructor(
    private readonly token: string,
    private readonly means: StreamMeans,
    private readonly listener: StreamListener,
  ) {}

  async follow(signal: AbortSignal): Promise<void> {
    this.listener.onStatus(CONNECTING);
    let failures = 0;
    while (!signal.aborted) {
      const connected = await this.connection(signal).catch(() => false);
      if (connected === 'refused' || signal.aborted) return;
      failures = connected ? 0 : failures + 1;
      this.tellReconnecting();
      await this.means.wait(Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures), signal);
    }
  }

  /** Makes one connection and reads it until it ends. @returns whether it was made */
  private async connection(signal: AbortSignal): Promise<boolean | 'refused'> {
    const attempt = new AbortController();
    const abort = (): void => attempt.abort();
    signal.addEventListener('abort', abort, { once: true });
    try {
      const position = this.position ?? (await this.head(attempt.signal));
      const answer = await this.open(position + 1, attempt.signal);
      if (answer.status === 403) {
        this.listener.onStatus({ phase: 'refused', text: await answer.text() });
        return 'refused';
      }
      if (!answer.ok || !answer.body) return false;
      this.position = this.lookForGap(answer.headers, position);
      this.tellLive();
      await this.readStream(answer.body, attempt);
      return true;
    } finally {
      signal.removeEventListener('abort', abort);
      attempt.abort();
    }
  }

  /**
   * Returns the last index that was applied. It is 0 if the token may not read it; the stream itself then reports the
   * refusal.
   */
  private async head(signal: AbortSignal): Promise<number> {
    const answer = await this.open(FROM_NOW, signal, '&until=head');
    if (answer.status === 403) return 0;
    await answer.body?.cancel();
    const head = Number(answer.headers.get('X-Waybill-Event-Head') ?? Number.NaN);
    if (!answer.ok || Number.isNaN(head)) throw new Error(`the event stream answers ${answer.status}`);
    return head;
  }

  private open(index: number, signal: AbortSignal, more = ''): Promise<Response> {
    const path = `/v1/event/stream?${VISIBLE_TOPICS}&index=${index}${more}`;
    return this.means.fetch(path, { signal, headers: this.token === '' ? {} : { 'X-Nomad-Token': this.token } });
  }

  /**
   * Reports a gap if the stream starts later than requested, a snapshot was restored since (EV-75), or the history is
   * another one. @returns its position
   */
  private lookForGap(headers: Headers, position: number): number {
    const bound = (name: string): number => Number(headers.get(`X-Waybill-Event-${name}`) ?? 0);
    const isShorter = bound('Head') < position;
    if (isShorter || bound('Floor') > position + 1 || bound('Restored') > position) this.listener.onGap();
    return isShorter ? bound('Head') : position;
  }

  private async readStream(body: ReadableStream<Uint8Array>, attempt: AbortController): Promise<void> {
    const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
    let pending = '';
    for (;;) {
      const silence = new AbortController();
      void this.means.wait(SILENCE_MS, silence.signal).then(() => {
        if (!silence.signal.aborted) attempt.abort();
      });
      const { done, value } = await reader.read().finally(() => silence.abort());
      if (done) return;
      const { lines, rest } = splitLines(pending, value);
      pending = rest;
      this.takeLines(lines);
    }
  }

  private takeLines(lines: readonly string[]): void {
    const changes: Change[] = [];
    for (const line of lines) {
      const read = readLine(line);
      if (read.index === 0) continue;
      this.position = read.index;
      for (const item of read.changes) changes.push(item);
    }
    if (changes.length === 0) return;
    this.lastChangeMs = this.means.nowMs();
    this.tellLive();
    this.listener.onChanges(changes);
  }

  private tellLive(): void {
    this.listener.onStatus({ phase: 'live', index: this.position ?? 0, lastChangeMs: this.lastChangeMs });
  }

  private tellReconnecting(): void {
    const { position: index = 0, lastChangeMs } = this;
    this.listener.onStatus({ phase: 'reconnecting', index, lastChangeMs, sinceMs: this.means.nowMs() });
  }
}
