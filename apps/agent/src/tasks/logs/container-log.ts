import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type Docker from 'dockerode';
import type { Logger } from '@waybill/telemetry';
import { engineAt, isMissing, statusOf } from '../../drivers/docker/engine.transport.js';
import { type Frame, FrameReader } from '../../drivers/docker/frames.js';
import { BEGIN, type Mark, MarkFinder } from './engine-log-mark.js';
import { bytesEverWritten } from './log-parts.js';
import { RotatingLog, type RotatingLogSpec } from './rotating-log.js';
import { below, pathName } from '../../paths/path-name.js';

/** The interval in milliseconds between two requests to an engine that does not answer. */
const RETRY_MS = 500;
/** The interval in milliseconds between two checks of a container that has not started yet. */
const LOOK_MS = 40;
/** The engine's status if it sends the output to a place from which it cannot be read. */
const NOT_READABLE = 501;
/**
 * The interval in milliseconds between two notes of the position. After a crash, output since the last note is read
 * again.
 */
const NOTE_EVERY_MS = 1_000;
/** Matches `2026-01-02T03:04:05.678901234Z` and a blank before each piece. */
const TIMESTAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z) /;
const TIMESTAMP_BYTES = 64;

type StreamName = Frame['stream'];
type PerStream<T> = Readonly<Record<StreamName, T>>;

/** ContainerLogOrder says whose output goes to which files. */
export interface ContainerLogOrder {
  readonly endpoint: string;
  readonly container: string;
  /** Whether the container has a terminal. Its output is then one stream without frames. */
  readonly tty: boolean;
  readonly files: PerStream<RotatingLogSpec>;
  /** The bytes that each log had received when the container was made. */
  readonly before: PerStream<number>;
}

/**
 * ContainerLog moves one container's output from the engine into the task's files, every byte once.
 *
 * The files show its progress: their growth since the container was made is the number of bytes taken of each stream. A
 * copier that was killed at any moment therefore continues at the right byte. A mark beside the order stores a time and
 * the number of bytes before it, so that it need not begin at the engine's first piece. States: following → (engine
 * away → waiting → following)* → ended, when the container has ended and all output is copied; or stopped. Output that
 * the engine dropped meanwhile, because its own files were full, is lost. Memory: one piece of output.
 */
export class ContainerLog {
  private readonly logs: PerStream<RotatingLog>;
  private readonly stopping = new AbortController();
  private mark = BEGIN;
  private notedAtMs = -Infinity;

  constructor(
    private readonly order: ContainerLogOrder,
    private readonly markFile: string,
    private readonly write: (log: RotatingLog, chunk: Buffer) => Promise<void>,
    private readonly logger: Logger,
  ) {
    this.logs = { stdout: new RotatingLog(order.files.stdout), stderr: new RotatingLog(order.files.stderr) };
  }

  /** Copies the output. Returns true when all of it is copied, and false if the copier was stopped. */
  async copyOutput(): Promise<boolean> {
    try {
      this.mark = await this.lastMark();
      for (let hasTold = false; !this.stopping.signal.aborted;) {
        try {
          if (await this.followLog()) return true;
          hasTold = false;
        } catch (error) {
          if (this.stopping.signal.aborted) break;
          const { container } = this.order;
          if (!hasTold && !isMissing(error))
            this.logger.warn('the output of a container cannot be read', { error, container });
          if (isMissing(error) || statusOf(error) === NOT_READABLE) return true;
          hasTold = true;
          await this.pause(RETRY_MS);
        }
      }
      return false;
    } finally {
      await Promise.all(Object.values(this.logs).map((log) => log.close()));
    }
  }

  stop(): void {
    this.stopping.abort();
  }

  /** Follows the log. Returns true when the container has ended and all output is copied. */
  private async followLog(): Promise<boolean> {
    const { endpoint, container, tty } = this.order;
    const engine = await engineAt(endpoint);
    const state = async () => (await engine.getContainer(container).inspect()).State;
    let before = await state();
    // The log of a container that has not started ends at once, without the later output.
    for (; before.Status === 'created' && !this.stopping.signal.aborted; before = await state())
      await this.pause(LOOK_MS);
    const output = await this.openLog(engine);
    const stop = (): void => void output.destroy();
    this.stopping.signal.addEventListener('abort', stop);
    try {
      const copier = tty ? await this.terminalCopier() : await this.frameCopier();
      for await (const chunk of output as AsyncIterable<Buffer>) await copier(chunk);
    } finally {
      this.stopping.signal.removeEventListener('abort', stop);
    }
    // An engine may cut off a slow reader when the container ends. Only a read that began after the end is complete.
    return !before.Running && !this.stopping.signal.aborted;
  }

  private async openLog(engine: Docker): Promise<NodeJS.ReadableStream & { destroy(): unknown }> {
    const { container, tty } = this.order;
    const since = tty || this.mark.since === '' ? {} : { since: engineTime(this.mark.since) };
    const output = await engine.getContainer(container).logs({
      follow: true,
      stdout: true,
      stderr: true,
      timestamps: !tty,
      // The engine accepts fractions of a second, but its client's types do not.
      ...(since as { since?: number }),
    });
    return output as NodeJS.ReadableStream & { destroy(): unknown };
  }

  private async frameCopier(): Promise<(chunk: Buffer) => Promise<void>> {
    const reader = new FrameReader();
    const have = await this.copiedBytes();
    const at: Record<StreamName, number> = { stdout: this.mark.stdout, stderr: this.mark.stderr };
    const marks = new MarkFinder(this.mark);
    let isFirst = true;
    return async (chunk) => {
      const texts: Record<StreamName, Buffer[]> = { stdout: [], stderr: [] };
      for (const { stream, data } of reader.push(chunk)) {
        const { time, text } = splitTime(data);
        // If the time of the mark is gone, the engine has dropped it, and all remaining output is new.
        if (isFirst && this.mark.since !== '' && time !== this.mark.since) Object.assign(at, have);
        isFirst = false;
        marks.take(time, at);
        texts[stream].push(text.subarray(Math.min(Math.max(have[stream] - at[stream], 0), text.length)));
        at[stream] += text.length;
      }
      for (const stream of ['stdout', 'stderr'] as const) {
        const fresh = Buffer.concat(texts[stream]);
        if (fresh.length > 0) await this.write(this.logs[stream], fresh);
      }
      await this.saveMark(marks.mark); // the mark moves only after all output is in the files
    };
  }

  /**
   * Returns a copier for a terminal. Its output has neither frames nor times, so it is read from its beginning each
   * time.
   */
  private async terminalCopier(): Promise<(chunk: Buffer) => Promise<void>> {
    let toSkip = (await this.copiedBytes()).stdout;
    return async (chunk) => {
      const skipped = Math.min(toSkip, chunk.length);
      toSkip -= skipped;
      if (skipped < chunk.length) await this.write(this.logs.stdout, chunk.subarray(skipped));
    };
  }

  /** Returns the number of bytes of each stream that are in the files. */
  private async copiedBytes(): Promise<Record<StreamName, number>> {
    const { files, before } = this.order;
    return {
      stdout: (await bytesEverWritten(files.stdout)) - before.stdout,
      stderr: (await bytesEverWritten(files.stderr)) - before.stderr,
    };
  }

  private async saveMark(mark: Mark): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.notedAtMs < NOTE_EVERY_MS || mark.since === this.mark.since) return;
    this.notedAtMs = nowMs;
    this.mark = mark;
    await writeFile(`${this.markFile}.new`, JSON.stringify(mark));
    await rename(`${this.markFile}.new`, this.markFile);
  }

  private async lastMark(): Promise<Mark> {
    const text = await readFile(this.markFile, 'utf8').catch(() => '');
    return text === '' ? BEGIN : (JSON.parse(text) as Mark);
  }

  private async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.stopping.signal }).catch(() => undefined);
  }
}

/** Splits a piece into the engine's time and the text. */
function splitTime(data: Buffer): { time: string; text: Buffer } {
  const time = TIMESTAMP.exec(data.toString('latin1', 0, TIMESTAMP_BYTES))?.[1];
  return time === undefined ? { time: '', text: data } : { time, text: data.subarray(time.length + 1) };
}

/** Converts a time to seconds and nanoseconds, as the engine expects. */
export function engineTime(timestamp: string): string {
  const [, whole = '', fraction = ''] = /^(.*?)(?:\.(\d+))?Z$/.exec(timestamp) ?? [];
  return `${Math.trunc(Date.parse(`${whole}Z`) / 1_000)}.${fraction.padEnd(9, '0')}`;
}

/** Returns the path of an order's mark in the directory of streams. */
export const markFileOf = (orderFile: string): string =>
  below(path.dirname(orderFile), pathName(`.${path.basename(orderFile)}.mark`));
