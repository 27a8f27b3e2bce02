import { errorText, type Timers } from '@waybill/model';
import type { LoginSources, LoginValue, TemplateSource } from '../tasks/templates/template-source.js';
import { Gate, pause } from '../waiting/gate.js';
import { consulKeys, consulService, consulServices, consulValue } from './consul-reads.js';
import type { MachineLogins } from './machine-logins.js';
import type { LoginRead, ReadAnswer } from './login-read.js';
import { ServerRefusedError } from './server-call.js';
import { vaultList, vaultSecret } from './vault-reads.js';
import type { LoginProduct } from './wanted-login.js';

/** The pauses in milliseconds after failed reads: the first one, doubled up to the longest. */
export const READ_RETRY_MS = 1_000;
export const LONGEST_READ_RETRY_MS = 60_000;

export interface LoginReadsDependencies {
  readonly logins: Pick<MachineLogins, 'of'>;
  readonly timers: Timers;
  readonly nowMs: () => number;
  readonly random: () => number;
}

interface Watched {
  readonly watchers: Set<(value: LoginValue) => void>;
  last: LoginValue | undefined;
  /** Opens when the token has changed or nobody watches any more. Each pause has its own. */
  wake: Gate;
}

/** Question is something that the templates of a task read. */
interface Question {
  readonly product: LoginProduct;
  readonly allocId: string;
  readonly task: string;
  readonly key: string;
  readonly read: LoginRead;
}

/**
 * LoginReads are the reads of this machine's templates at Vault and Consul, with the tokens of their tasks (AG-298,
 * AG-299). Each task and question has one read. At Consul it waits for a change, at Vault until its secret is due. A
 * failed read keeps the last value and is tried again. Memory: the last value of each question.
 */
export class LoginReads {
  private readonly reads = new Map<string, Watched>();
  private readonly stopped = new AbortController();

  constructor(private readonly deps: LoginReadsDependencies) {}

  /** Returns the sources that the templates of a task may read, by its `vault` block, its `consul` block, or both. */
  of(allocId: string, task: string): LoginSources {
    const source = (product: LoginProduct, kind: string, read: (name: string) => LoginRead): TemplateSource => ({
      watch: (name, tell, signal) => {
        const key = [allocId, task, kind, name].join('\n');
        this.watch({ product, allocId, task, key, read: read(name) }, tell, signal);
      },
    });
    const { logins } = this.deps;
    return {
      ...(logins.of('vault', allocId, task) && {
        'vault.read': source('vault', 'read', vaultSecret),
        'vault.list': source('vault', 'list', vaultList),
      }),
      ...(logins.of('consul', allocId, task) && {
        'kv.get': source('consul', 'key', consulValue),
        'kv.list': source('consul', 'keys', consulKeys),
        'health.service': source('consul', 'service', consulService),
        'catalog.services': source('consul', 'services', consulServices),
      }),
    };
  }

  /** Ends all reads, because the agent ends. */
  stop(): void {
    this.stopped.abort();
    for (const { wake } of this.reads.values()) wake.open();
  }

  private watch(question: Question, tell: (value: unknown) => void, signal: AbortSignal): void {
    if (signal.aborted || this.stopped.signal.aborted) return;
    const present = this.reads.get(question.key);
    const read: Watched = present ?? { watchers: new Set(), last: undefined, wake: new Gate() };
    read.watchers.add(tell);
    const leave = (): void => {
      read.watchers.delete(tell);
      if (read.watchers.size === 0) read.wake.open();
    };
    signal.addEventListener('abort', leave, { once: true });
    if (read.last) tell(read.last);
    if (present) return;
    this.reads.set(question.key, read);
    void this.repeat(question, read);
  }

  private async repeat({ product, allocId, task, key, read: ask }: Question, read: Watched): Promise<void> {
    const { logins, timers, random, nowMs } = this.deps;
    const { signal } = this.stopped;
    let failures = 0;
    let last: { readonly token: string; readonly answer: ReadAnswer } | undefined;
    while (read.watchers.size > 0 && !signal.aborted) {
      read.wake = new Gate();
      const opened = logins.of(product, allocId, task);
      const token = opened?.login.token;
      let againMs = READ_RETRY_MS;
      if (opened && token !== undefined) {
        const unwatched = new AbortController();
        opened.login.watch(() => read.wake.open(), unwatched.signal);
        try {
          const context = {
            opened,
            token,
            last: last?.token === token ? last.answer : undefined,
            random,
            nowMs,
            signal,
          };
          const answer = await ask(context);
          failures = 0;
          last = { token, answer };
          againMs = answer.againMs;
          this.tell(read, { value: answer.value });
        } catch (error) {
          againMs = Math.min(LONGEST_READ_RETRY_MS, READ_RETRY_MS * 2 ** failures++);
          if (error instanceof ServerRefusedError) {
            // The last value stays: it may be good until the task has its rights back.
            if (!last) this.tell(read, { refused: errorText(error) });
            void opened.login.handleRefusal(token);
          }
        }
        await pause(timers, againMs, read.wake);
        unwatched.abort();
      } else await pause(timers, againMs, read.wake);
    }
    // In the same turn as the last look at the watchers, so that no new one joins a read that has ended.
    this.reads.delete(key);
  }

  private tell(read: Watched, value: LoginValue): void {
    read.last = value;
    for (const tell of read.watchers) tell(value);
  }
}
