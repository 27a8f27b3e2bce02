import { FakeTime } from '@waybill/model';
import { parseCommandLine } from '../command-line.js';
import { command } from '../commands/job-restart.js';
import type { EvaluationAnswer } from '../evaluations/evaluation-table.js';
import { Interrupts } from '../terminal/interrupts.js';
import { Terminal } from '../terminal/terminal.js';
import { Conversation } from './conversation.js';
import { Interruption } from './interruption.js';
import { JobRestart } from './job-restart.js';
import { restartOptions } from './options.js';
import { type ListedAllocation, selectAllocations } from './selection.js';
import type { FollowedAllocation, RestartServer, Seen } from './server.js';

const INTERRUPTED = new DOMException('given up', 'AbortError');

/** A server that holds a few allocations in memory and wakes blocking reads. It records every call. */
export class PlayedServer implements RestartServer {
  readonly calls: string[] = [];
  readonly allocs = new Map<string, FollowedAllocation>();
  evals: EvaluationAnswer[] = [];
  activeDeployments: { ID: string; Status: 'running' | 'paused' | 'successful' }[] = [];
  jobIsStopped = false;
  /** Additional behaviour of a call. It may throw or wait. */
  on: (call: string) => Promise<void> | void = () => undefined;
  private index = 100;
  private readonly waiting = new Set<() => void>();

  change(id: string, to: Partial<FollowedAllocation>): void {
    const before = this.allocs.get(id) ?? { ID: id, ClientStatus: 'pending', DesiredStatus: 'run' };
    this.allocs.set(id, { ...before, ...to });
    this.wake();
  }

  evaluated(evaluation: EvaluationAnswer): void {
    this.evals = [...this.evals, evaluation];
    this.wake();
  }

  async deployments() {
    await this.call('deployments');
    return this.activeDeployments;
  }

  restart(alloc: string, task: string, allTasks: boolean) {
    return this.call(`restart ${alloc}${task && ` ${task}`}${allTasks ? ' all' : ''}`);
  }

  async stop(alloc: string, noShutdownDelay: boolean) {
    await this.call(`stop ${alloc}${noShutdownDelay ? ' no_shutdown_delay' : ''}`);
    return this.index;
  }

  evaluate() {
    return this.call('evaluate');
  }

  isStopped() {
    return Promise.resolve(this.jobIsStopped);
  }

  async evaluations(index: number, signal: AbortSignal): Promise<Seen<readonly EvaluationAnswer[]>> {
    await this.newerThan(index, signal);
    await this.on('evaluations');
    return { value: this.evals, index: this.index };
  }

  async allocation(id: string, index: number, signal: AbortSignal): Promise<Seen<FollowedAllocation>> {
    await this.newerThan(index, signal);
    await this.on(`read ${id}`);
    const value = this.allocs.get(id);
    if (!value) throw new Error('alloc not found');
    return { value, index: this.index };
  }

  private async call(text: string): Promise<void> {
    this.calls.push(text);
    await this.on(text);
  }

  private async newerThan(index: number, signal: AbortSignal): Promise<void> {
    while (this.index <= index)
      await new Promise<void>((resolve, reject) => {
        this.waiting.add(resolve);
        signal.addEventListener('abort', () => reject(INTERRUPTED), { once: true });
      });
  }

  private wake(): void {
    this.index++;
    for (const wake of this.waiting) wake();
    this.waiting.clear();
  }
}

/** One run over allocations `a1` … `a<n>`, of which the last is the newest. The test controls time and answers. */
export class RestartedJob {
  readonly time = new FakeTime();
  readonly server = new PlayedServer();
  readonly interrupts = new Interrupts();
  /** All output to stdout and stderr, without times. */
  out = '';
  err = '';
  /** Write calls with their times. */
  readonly writes: string[] = [];
  exitCode: number | undefined;
  /** Answers the open question. */
  private answer: ((text: string | undefined) => void) | undefined;
  readonly questions: string[] = [];

  constructor(words: string[], allocs: number | readonly ListedAllocation[] = 1, type = 'service') {
    const sink = (take: (text: string) => void) => ({
      write: (text: string | Uint8Array) => (take(withoutTimes(String(text))), true),
      once: () => undefined,
    });
    const terminal = new Terminal(
      sink((text) => {
        this.out += text;
        this.writes.push(text);
      }),
      sink((text) => (this.err += text)),
      { colour: false, interactive: true },
    );
    const conversation = new Conversation({
      terminal,
      clock: this.time,
      ask: (text, signal) => this.ask(text, signal),
    });
    const interruption = new Interruption(conversation, this.interrupts);
    const options = restartOptions(parseCommandLine(command, 'job restart', words).flags, true);
    const listed =
      typeof allocs === 'number' ? Array.from({ length: allocs }, (_, i) => listedAllocation(i + 1, type)) : allocs;
    for (const { ID } of listed) this.server.change(ID, { ClientStatus: 'running' });
    const job = { ID: 'web', Type: type };
    const sleep = (ms: number, signal?: AbortSignal) => this.sleep(ms, signal);
    const parts = { job, options, server: this.server, conversation, interruption, sleep, shown: (id: string) => id };
    const run = new JobRestart(parts).restart(selectAllocations(listed, [], options).eligible);
    void Promise.race([interruption.ended, run]).then((code) => (this.exitCode = code));
  }

  /** Answers the open question. Undefined stands for the end of the input. */
  async type(text: string | undefined): Promise<void> {
    await this.time.pass(0);
    const { answer } = this;
    if (!answer) throw new Error('nothing was asked');
    answer(text);
    await this.time.pass(0);
  }

  async ctrlC(): Promise<void> {
    this.interrupts.press();
    await this.time.pass(0);
  }

  private ask(text: string, signal?: AbortSignal): Promise<string> {
    this.questions.push(withoutTimes(text));
    return new Promise<string>((resolve, reject) => {
      if (this.answer) throw new Error('two questions at the same time');
      this.answer = (given) => {
        this.answer = undefined;
        if (given === undefined) reject(new Error('EOF'));
        else resolve(given);
      };
      signal?.addEventListener('abort', () => this.answer?.(undefined));
    });
  }

  private sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.time.after(ms, resolve);
      signal?.addEventListener('abort', () => (cancel(), reject(INTERRUPTED)), { once: true });
    });
  }
}

export function listedAllocation(n: number, JobType = 'service'): ListedAllocation {
  return {
    ID: `a${n}`,
    JobVersion: 0,
    JobType,
    TaskGroup: 'web',
    DesiredStatus: 'run',
    ClientStatus: 'running',
    CreateIndex: n,
    NextAllocation: '',
    TaskStates: null,
  };
}

const withoutTimes = (text: string): string =>
  text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)/g, '<ts>');
