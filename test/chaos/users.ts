import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../support/api-client.js';
import type { Random } from './fault-plan.js';
import type { Asked, Dispatch, Ending, Read, Write } from './history.js';

/** A client that gives up does not know what became of its write. */
const PATIENCE_MS = 8_000;
const LONGEST_THOUGHT_MS = 250;
const READ_EVERY_MS = 100;
/** Before somebody tries again what was answered with a failure. */
const AGAIN_MS = 100;
/** The API says that it writes nothing, and that what it shows may be lost. */
const DIVERGED_HEADER = 'x-waybill-log-diverged';

/** What stands in the job that is dispatched. */
export const TEMPLATE = 'template';

/** How jobs of a run write down that their tasks begin and end. */
export interface Diary {
  readonly file: string;
}

/**
 * Users who write, each its own jobs and one write after the other, and one who reads. They record what they were answered.
 *
 * at work → asked to stop → done with what each had begun. Batch jobs and dispatches are tried until they are acknowledged;
 * services are changed and stopped whatever became of the write before.
 */
export class Users {
  readonly writes: Write[] = [];
  readonly reads: Read[] = [];
  readonly dispatches: Dispatch[] = [];
  /** Reads that were answered with the remark that they may show what is lost. */
  readsOfDoubt = 0;
  private readonly stopper = new AbortController();
  private work: Promise<void>[] = [];
  private tries = 0;

  constructor(
    private readonly api: ApiClient,
    private readonly diary: Diary,
    private readonly random: Random,
  ) {}

  async begin(users: number): Promise<void> {
    await this.untilAcknowledged(TEMPLATE, (mark) => this.templateJob(mark), 0);
    const names = Array.from({ length: users }, (_, n) => `user${n}`);
    this.work = [...names.map((name) => this.write(name)), this.read(names.map((name) => `${name}-service`))];
  }

  /** Resolves when all have done what they had begun. */
  async stop(): Promise<void> {
    this.stopper.abort();
    await Promise.all(this.work);
  }

  private async write(name: string): Promise<void> {
    for (let n = 0; !this.stopper.signal.aborted; n++) {
      const chosen = this.random();
      if (chosen < 0.45) await this.registerService(`${name}-service`);
      else if (chosen < 0.55) await this.stopService(`${name}-service`);
      else if (chosen < 0.85)
        await this.untilAcknowledged(`${name}-batch-${n}`, (mark) => this.batchJob(`${name}-batch-${n}`, mark), 1);
      else await this.dispatch(`${name}-${n}`);
      await delay(this.random() * LONGEST_THOUGHT_MS);
    }
  }

  private async registerService(id: string): Promise<void> {
    const mark = ++this.tries;
    const count = 1 + Math.floor(this.random() * 2);
    const { ending, body, asked } = await this.send('PUT', '/v1/jobs', { Job: this.serviceJob(id, mark, count) });
    this.writes.push({ job: id, verb: 'register', mark, count, ending, asked, ...indexOf(body) });
  }

  private async stopService(id: string): Promise<void> {
    const mark = ++this.tries;
    const { ending, body, asked } = await this.send('DELETE', `/v1/job/${id}`);
    // Of a job that is not there nothing was done.
    if (ending === 'acknowledged' && body?.JobModifyIndex === 0) return;
    this.writes.push({ job: id, verb: 'stop', mark, count: 0, ending, asked, ...indexOf(body) });
  }

  private async untilAcknowledged(id: string, jobOf: (mark: number) => object, count: number): Promise<void> {
    const mark = ++this.tries;
    for (;;) {
      const { ending, body, asked, isForGood } = await this.send('PUT', '/v1/jobs', { Job: jobOf(mark) });
      if (isForGood) throw new Error(`job ${id} is refused`);
      if (ending === 'acknowledged') {
        this.writes.push({ job: id, verb: 'register', mark, count, ending, asked, ...indexOf(body) });
        return;
      }
      await delay(AGAIN_MS);
    }
  }

  private async dispatch(token: string): Promise<void> {
    for (;;) {
      const { ending, body, asked, isForGood } = await this.send('PUT', `/v1/job/${TEMPLATE}/dispatch`, {
        Meta: { token },
        IdempotencyToken: token,
      });
      if (isForGood) throw new Error(`dispatch of ${token} is refused`);
      if (ending === 'acknowledged' && body?.DispatchedJobID) {
        const { DispatchedJobID: child, JobCreateIndex: index } = body;
        this.dispatches.push({ token, child, asked, ...(index !== undefined && { index }) });
        return;
      }
      await delay(AGAIN_MS);
    }
  }

  private async read(services: readonly string[]): Promise<void> {
    for (let at = 0; !this.stopper.signal.aborted; at++) {
      const job = services[at % services.length] ?? '';
      try {
        const answer = await this.api.raw(`/v1/job/${job}`, { signal: AbortSignal.timeout(PATIENCE_MS) });
        const index = Number(answer.headers.get('x-nomad-index'));
        const found = (await answer.text()) || '{}';
        if (answer.headers.has(DIVERGED_HEADER)) this.readsOfDoubt++;
        else if (answer.status === 200)
          this.reads.push({ job, mark: markOf(JSON.parse(found) as Marked), index, atMs: performance.now() });
        else if (answer.status === 404 && index > 0)
          this.reads.push({ job, mark: undefined, index, atMs: performance.now() });
      } catch {
        // It is away, or does not answer: nothing was seen.
      }
      await delay(READ_EVERY_MS);
    }
  }

  private async send(method: string, path: string, body?: object): Promise<Sent> {
    const sentMs = performance.now();
    const ended = (ending: Ending, over: Partial<Sent> = {}): Sent => ({
      ending,
      body: undefined,
      asked: { sentMs, answeredMs: performance.now() },
      isForGood: false,
      ...over,
    });
    try {
      const answer = await this.api.raw(path, {
        method,
        signal: AbortSignal.timeout(PATIENCE_MS),
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (answer.ok) return ended('acknowledged', { body: JSON.parse(text) as Answered });
      if (answer.status < 500) return ended('refused', { isForGood: true });
      return ended(answer.headers.has(DIVERGED_HEADER) ? 'refused' : 'unknown');
    } catch {
      return ended('unknown');
    }
  }

  private serviceJob(id: string, mark: number, count: number): object {
    const line = `${this.writesDown('begun')}; exec sleep 100000`;
    return jobOf(id, 'service', line, { Meta: { mark: String(mark) }, count });
  }

  private batchJob(id: string, mark: number): object {
    const line = `${this.writesDown('begun')}; sleep 0.3; ${this.writesDown('ended')}`;
    return jobOf(id, 'batch', line, { Meta: { mark: String(mark) }, count: 1 });
  }

  private templateJob(mark: number): object {
    const line = `${this.writesDown('begun')}; ${this.writesDown('ended')}`;
    const ParameterizedJob = { Payload: 'forbidden', MetaRequired: ['token'] };
    return { ...jobOf(TEMPLATE, 'batch', line, { Meta: { mark: String(mark) }, count: 1 }), ParameterizedJob };
  }

  /** One line, which the system writes whole. */
  private writesDown(what: string): string {
    return `echo "$NOMAD_JOB_ID $NOMAD_ALLOC_ID $$ ${what}" >> "${this.diary.file}"`;
  }
}

/** What became of a request. */
interface Sent {
  readonly ending: Ending;
  readonly body: Answered | undefined;
  readonly asked: Asked;
  /** Whether asking again is of no use. */
  readonly isForGood: boolean;
}

interface Answered {
  readonly JobModifyIndex?: number;
  readonly JobCreateIndex?: number;
  readonly DispatchedJobID?: string;
}

interface Marked {
  readonly Meta?: Readonly<Record<string, string>> | null;
}

export const markOf = ({ Meta }: Marked): number | undefined =>
  Meta?.['mark'] === undefined ? undefined : Number(Meta['mark']);

const indexOf = (body: Answered | undefined) =>
  body?.JobModifyIndex === undefined ? {} : { modifyIndex: body.JobModifyIndex };

function jobOf(id: string, type: string, line: string, { Meta, count }: { Meta: object; count: number }): object {
  return {
    ID: id,
    Name: id,
    Type: type,
    Datacenters: ['*'],
    Meta,
    TaskGroups: [
      {
        Name: 'group',
        Count: count,
        RestartPolicy: { Attempts: 0, Mode: 'fail' },
        ReschedulePolicy: { Attempts: 0, Unlimited: false },
        EphemeralDisk: { SizeMB: 10 },
        ...(type === 'service' && { Update: { MinHealthyTime: 100_000_000 } }),
        Tasks: [
          {
            Name: 'task',
            Driver: 'raw_exec',
            Config: { command: '/bin/sh', args: ['-c', line] },
            LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 },
            Resources: { CPU: 5, MemoryMB: 10 },
            KillTimeout: 500_000_000,
          },
        ],
      },
    ],
  };
}
