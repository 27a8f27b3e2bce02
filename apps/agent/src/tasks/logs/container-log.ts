import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type Docker from 'dockerode';
import type { Logger } from '@waybill/telemetry';
import { engineAt, isMissing, statusOf } from '../../drivers/docker/engine.transport.js';
import { type Frame, FrameReader } from '../../drivers/docker/frames.js';
import { bytesEverWritten } from './log-parts.js';
import { RotatingLog, type RotatingLogSpec } from './rotating-log.js';
import { below, pathName } from '../../paths/path-name.js';

/** An engine that does not answer is asked again after this. */
const RETRY_MS = 500;
/** A container that has not started yet is looked at again after this. */
const LOOK_MS = 40;
/** The engine has handed the output on to where nobody can read it back. */
const NOT_READABLE = 501;
/** How often the place to go on from is written down: what came since is read once more after a crash. */
const NOTE_EVERY_MS = 1_000;
/** `2026-01-02T03:04:05.678901234Z` and a blank in front of each piece. */
const TIMESTAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z) /;
const TIMESTAMP_BYTES = 64;

type StreamName = Frame['stream'];
type PerStream<T> = Readonly<Record<StreamName, T>>;

/** Whose output goes where. */
export interface ContainerLogOrder {
  readonly endpoint: string;
  readonly container: string;
  /** Its output is one stream without frames. */
  readonly tty: boolean;
  readonly files: PerStream<RotatingLogSpec>;
  /** Bytes that had been written to each when the container was made. */
  readonly before: PerStream<number>;
}

/** Up to where the engine's log is known: pieces from `since` on, and what each stream had said until then. */
interface Mark {
  readonly since: string;
  readonly stdout: number;
  readonly stderr: number;
}

const BEGIN: Mark = { since: '', stdout: 0, stderr: 0 };

/**
 * Moves what the engine keeps of one container's output into the task's files, every byte once.
 *
 * What is in the files says how far it got: their size since the container was made is what was taken of each stream, so
 * that a copier that was killed at any moment goes on at the right byte. So as not to begin at the engine's first piece
 * each time, a mark beside the order says from which moment on to ask, and how much came before it.
 * following → (engine away → waiting → following)* → ended: the container is, and all was copied. Or stopped.
 * What the engine has thrown away meanwhile, because its own files are full, is lost. Memory: one piece of output.
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

  /** True when all of it was copied, false when it was stopped. */
  async copyOutput(): Promise<boolean> {
    try {
      this.mark = await this.lastMark();
      for (let hasTold = false; !this.stopping.signal.aborted;) {
        try {
          if (await this.follow()) return true;
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

  /** True when the container has ended and all was copied. */
  private async follow(): Promise<boolean> {
    const { endpoint, container, tty } = this.order;
    const engine = await engineAt(endpoint);
    const state = async () => (await engine.getContainer(container).inspect()).State;
    let before = await state();
    // The log of one that has not started ends at once, and says nothing of what comes.
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
    // An engine may cut off whom it cannot keep up with when the container ends: only what was read after that is all.
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
      // The engine takes parts of a second; its client's types do not.
      ...(since as { since?: number }),
    });
    return output as NodeJS.ReadableStream & { destroy(): unknown };
  }

  private async frameCopier(): Promise<(chunk: Buffer) => Promise<void>> {
    const reader = new FrameReader();
    const have = await this.taken();
    const at: Record<StreamName, number> = { stdout: this.mark.stdout, stderr: this.mark.stderr };
    let isFirst = true;
    return async (chunk) => {
      const texts: Record<StreamName, Buffer[]> = { stdout: [], stderr: [] };
      let last = this.mark;
      for (const { stream, data } of reader.push(chunk)) {
        const { time, text } = timed(data);
        // Where the moment of the mark is no longer there, the engine has thrown it away: all that is left is new.
        if (isFirst && this.mark.since !== '' && time !== this.mark.since) Object.assign(at, have);
        isFirst = false;
        last = { since: time, ...at };
        texts[stream].push(text.subarray(Math.min(Math.max(have[stream] - at[stream], 0), text.length)));
        at[stream] += text.length;
      }
      for (const stream of ['stdout', 'stderr'] as const) {
        const fresh = Buffer.concat(texts[stream]);
        if (fresh.length > 0) await this.write(this.logs[stream], fresh);
      }
      await this.note(last); // not before all of it is in the files
    };
  }

  /** What a terminal says has no frames and no times: it is read from its beginning each time. */
  private async terminalCopier(): Promise<(chunk: Buffer) => Promise<void>> {
    let toSkip = (await this.taken()).stdout;
    return async (chunk) => {
      const skipped = Math.min(toSkip, chunk.length);
      toSkip -= skipped;
      if (skipped < chunk.length) await this.write(this.logs.stdout, chunk.subarray(skipped));
    };
  }

  /** Bytes of each stream that are in the files. */
  private async taken(): Promise<Record<StreamName, number>> {
    const { files, before } = this.order;
    return {
      stdout: (await bytesEverWritten(files.stdout)) - before.stdout,
      stderr: (await bytesEverWritten(files.stderr)) - before.stderr,
    };
  }

  private async note(mark: Mark): Promise<void> {
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

/** A piece, and when the engine says that it came. */
function timed(data: Buffer): { time: string; text: Buffer } {
  const time = TIMESTAMP.exec(data.toString('latin1', 0, TIMESTAMP_BYTES))?.[1];
  return time === undefined ? { time: '', text: data } : { time, text: data.subarray(time.length + 1) };
}

/** Seconds and nanoseconds, as the engine wants to be asked. */
export function engineTime(timestamp: string): string {
  const [, whole = '', fraction = ''] = /^(.*?)(?:\.(\d+))?Z$/.exec(timestamp) ?? [];
  return `${Math.trunc(Date.parse(`${whole}Z`) / 1_000)}.${fraction.padEnd(9, '0')}`;
}

/** What is said of it in the directory of streams. */
export const markFileOf = (orderFile: string): string =>
  below(path.dirname(orderFile), pathName(`.${path.basename(orderFile)}.mark`));
