import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Timers } from '@waybill/model';
import { badRequest, unavailable } from '../http/api-error.js';
import type { ParseRequest } from './parse-request.js';
import type { ParseAnswer } from './parse-worker.transport.js';

/** The largest time for parsing a job file in milliseconds (jobspec.md §15). */
export const MAX_PARSE_MS = 2000;
/**
 * The largest number of requests that wait for the thread. If each takes the time limit, the last one waits half a
 * minute.
 */
const MAX_WAITING = 16;

/** The URL of the built file, even if this file runs from source. */
const WORKER = new URL(
  'jobs/parse-worker.transport.js',
  pathToFileURL(createRequire(import.meta.url).resolve('@waybill/api')),
);

/**
 * JobParser parses job files in a thread, so that no text delays other requests (JS-214). There is one thread; the
 * first request starts it, and requests take turns. A request that takes longer than MAX_PARSE_MS ends with its thread,
 * and the next request starts another thread. The thread takes about 20 MB.
 */
export class JobParser {
  private worker: Worker | undefined;
  private turn: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(private readonly timers: Timers) {}

  /** Returns the job as JSON (JS-130). @throws Refusal invalid, unavailable */
  async parse(request: ParseRequest): Promise<unknown> {
    if (this.waiting >= MAX_WAITING) throw unavailable('Too many job files are being parsed; try again');
    this.waiting++;
    const mine = this.turn.then(() => this.askWorker(request)).finally(() => this.waiting--);
    this.turn = mine.catch(() => undefined);
    const answer = await mine;
    if ('refusal' in answer) throw badRequest(`Failed to parse job: ${answer.refusal}`);
    return answer.job;
  }

  private askWorker(request: ParseRequest): Promise<ParseAnswer> {
    const worker = (this.worker ??= startWorker());
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        cancel();
        worker.off('message', acceptAnswer);
        worker.off('error', failParse);
      };
      const failParse = (why: Error): void => {
        settle();
        this.worker = undefined;
        void worker.terminate();
        reject(why);
      };
      const cancel = this.timers.after(MAX_PARSE_MS, () =>
        failParse(badRequest(`Failed to parse job: parsing takes longer than ${MAX_PARSE_MS / 1000} s`)),
      );
      const acceptAnswer = (answer: ParseAnswer): void => {
        settle();
        resolve(answer);
      };
      worker.once('message', acceptAnswer);
      worker.once('error', failParse);
      worker.postMessage(request);
    });
  }
}

/** Starts the thread. The process may end while the thread runs. */
function startWorker(): Worker {
  const worker = new Worker(WORKER);
  worker.unref();
  return worker;
}
