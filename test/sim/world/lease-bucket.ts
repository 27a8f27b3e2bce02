import type { LeaseStore } from '@waybill/roles';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { Simulator } from '../kernel/simulator.js';
import type { Wire } from './wire.js';

/** One attempt to reach the bucket, as over the real one, milliseconds. */
const WRITE_TIMEOUT_MS = 700;
const ASKING = { timeoutMs: WRITE_TIMEOUT_MS, unheard: 'loss', unanswered: 'loss' } as const;

interface LeaseEntry {
  readonly holder: string;
  readonly revision: number;
  readonly expiresAtMs: number;
}

interface Watcher {
  readonly process: SimulatedProcess;
  readonly onFree: () => void;
}

/** The KV bucket of leases: one entry per role, written by compare-and-set, gone after its time. */
export class LeaseBucket {
  private readonly entries = new Map<string, LeaseEntry>();
  private readonly watchers = new Map<string, Set<Watcher>>();
  private revisions = 0;

  constructor(
    private readonly simulator: Simulator,
    private readonly wire: Wire,
  ) {}

  storeOf(process: SimulatedProcess): LeaseStore {
    return {
      acquire: (role, holder, ttlMs) =>
        this.asked(process, 'lease acquire', () => (this.current(role) ? undefined : this.put(role, holder, ttlMs))),
      renew: (role, holder, ttlMs, revision) =>
        this.asked(process, 'lease renew', () =>
          this.current(role)?.revision === revision ? this.put(role, holder, ttlMs) : undefined,
        ),
      release: (role, revision) =>
        this.asked(process, 'lease release', () => {
          if (this.current(role)?.revision === revision) this.free(role);
        }),
      watch: (role, onFree) => this.watch(role, { process, onFree }),
    };
  }

  private current(role: string): LeaseEntry | undefined {
    const entry = this.entries.get(role);
    return entry && entry.expiresAtMs > this.simulator.nowMs ? entry : undefined;
  }

  private put(role: string, holder: string, ttlMs: number): number {
    const revision = ++this.revisions;
    this.entries.set(role, { holder, revision, expiresAtMs: this.simulator.nowMs + ttlMs });
    this.simulator.schedule(ttlMs, `lease ${role} expires`, () => {
      if (this.entries.get(role)?.revision === revision) this.free(role);
    });
    return revision;
  }

  private free(role: string): void {
    this.entries.delete(role);
    for (const { process, onFree } of this.watchers.get(role) ?? [])
      if (!this.wire.happens('loss')) this.wire.toProcess(process, `lease ${role} is free`, onFree);
  }

  private watch(role: string, watcher: Watcher): () => void {
    const watchers = this.watchers.get(role) ?? new Set();
    this.watchers.set(role, watchers);
    for (const other of watchers) if (!other.process.isAlive) watchers.delete(other);
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }

  /** @throws when no answer comes: it may or may not have happened */
  private asked<T>(process: SimulatedProcess, label: string, atNats: () => T): Promise<T> {
    return this.wire.ask(process, label, ASKING, atNats);
  }
}
