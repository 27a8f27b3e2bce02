import { type Clock, FakeTime } from '@waybill/model';
import { draftTxn, serviceActor, StateMachine } from '@waybill/state';
import type { Applied, Fence, Proposed, Role, TxnDraft, TxnPayloads } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { LeaseRunner } from './lease-runner.js';
import type { LeaseStore } from './lease-store.js';
import type { Singleton, Term } from './singleton.js';

const TTL_MS = 3_000;

/** Leases with a TTL on a clock that is everyone's. */
class FakeStore implements LeaseStore {
  reachable = true;
  private revisions = 0;
  private entry: { holder: string; revision: number; untilMs: number } | undefined;
  private readonly watchers = new Set<() => void>();
  constructor(private readonly clock: Clock) {}
  async acquire(_role: string, holder: string, ttlMs: number): Promise<number | undefined> {
    if (!this.reachable) throw new Error('down');
    if (this.entry && this.entry.untilMs > this.clock.nowMs()) return undefined;
    return this.write(holder, ttlMs);
  }
  async renew(_role: string, holder: string, ttlMs: number, revision: number): Promise<number | undefined> {
    if (!this.reachable) throw new Error('down');
    if (this.entry?.revision !== revision || this.entry.untilMs <= this.clock.nowMs()) return undefined;
    return this.write(holder, ttlMs);
  }
  async release(_role: string, revision: number): Promise<void> {
    if (this.entry?.revision !== revision) return;
    this.entry = undefined;
    for (const w of this.watchers) w();
  }
  watch(_role: string, onFree: () => void): () => void {
    this.watchers.add(onFree);
    return () => this.watchers.delete(onFree);
  }
  private write(holder: string, ttlMs: number): number {
    this.entry = { holder, revision: ++this.revisions, untilMs: this.clock.nowMs() + ttlMs };
    return this.revisions;
  }
}

/** A log in memory; each copy of the state applies it when it is told to catch up, or at once. */
class FakeLog {
  readonly drafts: TxnDraft[] = [];
  readonly copies: FakeCopy[] = [];
  down = false;
  proposals = 0;
  append(draft: TxnDraft): number {
    this.drafts.push(draft);
    for (const copy of this.copies) if (!copy.frozen) copy.catchUp();
    return this.drafts.length;
  }
}

class FakeCopy {
  readonly machine = new StateMachine();
  frozen = false;
  private readonly listeners = new Set<(a: Applied) => void>();
  constructor(private readonly log: FakeLog) {
    log.copies.push(this);
  }
  get tables() {
    return this.machine.tables;
  }
  onApplied(listener: (a: Applied) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
  catchUp(): void {
    this.frozen = false;
    for (let i = this.machine.appliedIndex; i < this.log.drafts.length; i++) {
      const applied = this.machine.apply({ ...this.log.drafts[i]!, index: i + 1 } as Applied['txn']);
      this.verdicts.set(i + 1, applied.verdict);
      for (const l of this.listeners) l(applied);
    }
  }
  private readonly verdicts = new Map<number, Applied['verdict']>();
  async propose(draft: TxnDraft): Promise<Proposed> {
    this.log.proposals++;
    if (this.log.down) throw new Error('the log is down');
    const index = this.log.append(draft);
    return { index, verdict: this.verdicts.get(index)! };
  }
}

class Recorder implements Singleton {
  readonly role: Role = 'broker';
  readonly calls: string[] = [];
  term: Term | undefined;
  failStart = 0;
  failApplied = false;
  startGate: Promise<void> | undefined;
  stopGate: Promise<void> | undefined;
  start(term: Term): void | Promise<void> {
    this.calls.push(`start ${term.epoch}`);
    if (this.failStart-- > 0) throw new Error('cannot start');
    this.term = term;
    return this.startGate;
  }
  applied(a: Applied): void {
    this.calls.push(`applied ${a.index}`);
    if (this.failApplied) throw new Error('cannot apply');
  }
  stop(): void | Promise<void> {
    this.calls.push('stop');
    return this.stopGate;
  }
  stats(): Record<string, number> {
    return { calls: this.calls.length };
  }
}

function cluster(names: string[]) {
  const time = new FakeTime(0);
  const store = new FakeStore(time);
  const log = new FakeLog();
  let ids = 0;
  const members = names.map((holder) => {
    const singleton = new Recorder();
    const copy = new FakeCopy(log);
    const terms: (number | undefined)[] = [];
    const runner = new LeaseRunner({
      singleton,
      store,
      state: copy,
      holder,
      ttlMs: TTL_MS,
      clock: time,
      monotonic: time,
      timers: time,
      newId: () => `id-${++ids}`,
      region: 'global',
      logger: silentLogger,
      onTerm: (t) => terms.push(t?.epoch),
    });
    return { singleton, copy, runner, terms };
  });
  const write = () =>
    log.append({ ...log.drafts[0]!, type: 'Ignore', payload: {}, requestId: `w-${++ids}` } as TxnDraft);
  return { time, store, log, members, write };
}

/** @param fence of a term; one that is over makes the log refuse it */
function aRestore(fence?: Fence): TxnDraft {
  const archive = { Archive: 'a', SHA256: '', Bytes: 0, Index: 1, Tables: {} };
  const requestId = `restore of epoch ${fence?.epoch}`;
  return draftTxn('StateRestore', archive, { timeNs: 1, requestId, actor: serviceActor('broker'), fence });
}

describe('LeaseRunner', () => {
  it('EB-135, ST-15: acts only after its own copy has applied its LeaseAcquired, and then sees every later transaction', async () => {
    const { time, members, write, log } = cluster(['a']);
    const [a] = members;
    a!.copy.frozen = true;
    a!.runner.start();
    await time.pass(10);
    expect(log.drafts).toHaveLength(1);
    expect(a!.singleton.calls).toEqual([]);
    expect(a!.runner.epoch).toBeUndefined();
    a!.copy.catchUp();
    write();
    expect(a!.singleton.calls).toEqual(['start 1', 'applied 2']);
    expect(a!.singleton.term).toMatchObject({ role: 'broker', epoch: 1, fence: { role: 'broker', epoch: 1 } });
    expect(a!.singleton.term!.isCurrent()).toBe(true);
  });

  it('lets one act at a time; on stop the next one begins at once, with the next epoch', async () => {
    const { time, members } = cluster(['a', 'b']);
    const [a, b] = members;
    a!.runner.start();
    await time.pass(1);
    b!.runner.start();
    await time.pass(10 * TTL_MS);
    expect(a!.runner.epoch).toBe(1);
    expect(b!.singleton.calls).toEqual([]);
    await a!.runner.stop();
    await time.pass(1);
    expect(a!.singleton.calls).toEqual(['start 1', 'stop']);
    expect(b!.runner.epoch).toBe(2);
    expect(a!.terms).toEqual([1, undefined]);
  });

  it('OP-42: a restored state begins a term of its own, with the lease that is held', async () => {
    const { time, members, log } = cluster(['a', 'b']);
    const [a, b] = members;
    a!.runner.start();
    await time.pass(1);
    b!.runner.start();
    log.append(aRestore());
    await time.pass(TTL_MS / 4);
    expect(a!.singleton.calls).toEqual(['start 1', 'stop', 'start 3']);
    expect([a!.runner.epoch, b!.runner.epoch]).toEqual([3, undefined]);
    expect(a!.singleton.term!.followsRestore).toBe(true);
    await a!.runner.stop();
    await time.pass(1);
    expect(b!.runner.epoch).toBe(4);
    expect(b!.singleton.term!.followsRestore).toBe(false);
  });

  it('ND-78: whoever takes the role first after a restore knows of it, whoever held it before', async () => {
    const { time, members, log } = cluster(['a', 'b']);
    const [a, b] = members;
    a!.runner.start();
    await time.pass(1);
    b!.runner.start();
    expect(a!.singleton.term!.followsRestore).toBe(false);
    log.append(aRestore());
    await a!.runner.stop();
    await time.pass(TTL_MS);
    expect(b!.singleton.term!.followsRestore).toBe(true);
  });

  it('says to metrics whether it holds the role, and in which epoch, beside what the singleton says', async () => {
    const { time, members } = cluster(['a', 'b']);
    const [a, b] = members;
    expect(a!.runner.stats()).toEqual({ calls: 0, holder: 0, epoch: 0 });
    a!.runner.start();
    await time.pass(1);
    b!.runner.start();
    await time.pass(1);
    expect(a!.runner.stats()).toEqual({ calls: 1, holder: 1, epoch: 1 });
    expect(b!.runner.stats()).toEqual({ calls: 0, holder: 0, epoch: 0 });
    await a!.runner.stop();
    expect(a!.runner.stats()).toMatchObject({ holder: 0, epoch: 0 });
  });

  it('announces the lease at the time of its clock, as its service and in its region; the term knows how long that took', async () => {
    const { time, members, log } = cluster(['a']);
    const [a] = members;
    await time.pass(5_000);
    a!.copy.frozen = true;
    a!.runner.start();
    await time.pass(40);
    a!.copy.catchUp();
    expect(log.drafts[0]).toMatchObject({
      payload: { Role: 'broker', Epoch: 1, Holder: 'a' },
      timeNs: 5_000 * 1e6,
      actor: serviceActor('broker'),
      region: 'global',
    });
    expect(a!.singleton.term!.barrierMs).toBe(40);
  });

  it('a restore that is refused ends no term, and a follower does nothing at one', async () => {
    const { time, members, log } = cluster(['a', 'b']);
    const [a, b] = members;
    a!.runner.start();
    await time.pass(1);
    b!.runner.start();
    log.append(aRestore({ role: 'broker', epoch: 99 }));
    await time.pass(TTL_MS);
    expect(a!.runner.epoch).toBe(1);
    expect(a!.singleton.calls).not.toContain('stop');
    log.append(aRestore());
    await time.pass(TTL_MS);
    expect([a!.runner.epoch, b!.runner.epoch]).toEqual([3, undefined]);
    expect(b!.singleton.calls).toEqual([]);
    expect(a!.singleton.calls.filter((call) => call === 'stop')).toHaveLength(1);
  });

  it('one that is stopped while it contends takes nothing any more', async () => {
    const { time, members, log } = cluster(['a']);
    const [a] = members;
    a!.copy.frozen = true;
    a!.runner.start();
    await time.pass(10);
    await a!.runner.stop();
    a!.copy.catchUp();
    await time.pass(10 * TTL_MS);
    expect(a!.singleton.calls).toEqual([]);
    expect(log.drafts).toHaveLength(1);
    expect(a!.runner.term).toBeUndefined();
  });

  it('gives the lease back only after the singleton has stopped', async () => {
    const { time, members } = cluster(['a', 'b']);
    const [a, b] = members;
    a!.runner.start();
    await time.pass(1);
    b!.runner.start();
    let finish!: () => void;
    a!.singleton.stopGate = new Promise((resolve) => (finish = resolve));
    const stopping = a!.runner.stop();
    await time.pass(TTL_MS / 2);
    expect(b!.runner.epoch).toBeUndefined();
    finish();
    await stopping;
    await time.pass(1);
    expect(b!.runner.epoch).toBe(2);
  });

  it('a holder that cannot renew stops before anyone else can begin', async () => {
    const { time, store, members } = cluster(['a', 'b']);
    const [a, b] = members;
    a!.runner.start();
    await time.pass(1);
    b!.runner.start();
    store.reachable = false;
    await time.pass(TTL_MS * 0.7);
    expect(a!.runner.epoch).toBe(1);
    await time.pass(TTL_MS * 0.1);
    expect(a!.singleton.calls).toEqual(['start 1', 'stop']);
    store.reachable = true;
    expect(await store.acquire('broker', 'x', TTL_MS)).toBeUndefined(); // the store still counts
    await time.pass(TTL_MS * 2);
    expect([a!.runner.epoch, b!.runner.epoch].filter((e) => e === 2)).toHaveLength(1);
  });

  it('rides out a store that is away for half a TTL', async () => {
    const { time, store, members } = cluster(['a']);
    members[0]!.runner.start();
    await time.pass(1);
    store.reachable = false;
    await time.pass(TTL_MS / 2);
    store.reachable = true;
    await time.pass(TTL_MS * 3);
    expect(members[0]!.singleton.calls).toEqual(['start 1']);
  });

  it('a frozen holder knows on waking, before any timer runs and before it has read the log', async () => {
    const { time, members } = cluster(['a']);
    const [a] = members;
    a!.runner.start();
    await time.pass(1);
    const term = a!.singleton.term!;
    time.freeze(TTL_MS + 1);
    expect(term.isCurrent()).toBe(false);
    await time.pass(0);
    expect(a!.singleton.calls).toContain('stop');
  });

  it('ST-15: a holder that sees its role taken by another drops everything at once', async () => {
    const { time, members, log } = cluster(['a']);
    const [a] = members;
    a!.runner.start();
    await time.pass(1);
    log.append({
      ...log.drafts[0]!,
      requestId: 'other',
      payload: { Role: 'broker', Epoch: 2, Holder: 'b' },
    } as TxnDraft);
    expect(a!.singleton.calls).toEqual(['start 1', 'stop']);
    expect(a!.singleton.term!.isCurrent()).toBe(false);
  });

  it('a LeaseAcquired with an epoch that was used is refused, and tried again with the next', async () => {
    const { time, members, log } = cluster(['a']);
    const [a] = members;
    // Somebody takes epoch 1 and is gone; this copy has not seen it when it proposes.
    a!.copy.frozen = true;
    log.append({
      ...({ type: 'LeaseAcquired', timeNs: 0, namespace: '', region: 'global', reason: '', schemaVersion: 1 } as const),
      actor: { Kind: 'role', ID: 'broker', Name: 'broker' },
      requestId: 'x',
      payload: { Role: 'broker', Epoch: 1, Holder: 'x' },
    });
    const propose = a!.copy.propose.bind(a!.copy);
    a!.copy.propose = (draft) => {
      a!.copy.frozen = false;
      return propose(draft);
    };
    a!.runner.start();
    await time.pass(1_000);
    const payloads = log.drafts.map((d) => d.payload as TxnPayloads['LeaseAcquired']);
    expect(payloads.map(({ Epoch, Holder }) => [Epoch, Holder])).toEqual([
      [1, 'x'],
      [1, 'a'],
      [2, 'a'],
    ]);
    expect(a!.singleton.calls).toEqual(['start 2']);
  });

  it('proposes again while the log is down, as long as it has the lease', async () => {
    const { time, members, log } = cluster(['a']);
    log.down = true;
    members[0]!.runner.start();
    await time.pass(10 * TTL_MS);
    expect(members[0]!.singleton.calls).toEqual([]);
    log.down = false;
    await time.pass(200);
    expect(members[0]!.singleton.calls).toEqual(['start 1']);
  });

  it('EB-142: a singleton that cannot start gives its role back and gets it again after a pause', async () => {
    const { time, members } = cluster(['a']);
    const [a] = members;
    a!.singleton.failStart = 2;
    a!.runner.start();
    await time.pass(100);
    expect(a!.singleton.calls).toEqual(['start 1', 'stop']);
    await time.pass(30_000);
    expect(a!.singleton.calls).toEqual(['start 1', 'stop', 'start 2', 'stop', 'start 3']);
    expect(a!.terms).toEqual([3]);
  });

  it('EB-142: the pause after failures doubles from a quarter of a second to ten, and is short again after a success', async () => {
    const { time, members, write } = cluster(['a']);
    const [a] = members;
    const triedAt: number[] = [];
    const start = a!.singleton.start.bind(a!.singleton);
    a!.singleton.start = (term) => {
      triedAt.push(time.nowMs());
      return start(term);
    };
    const pauses = () => triedAt.slice(1).map((at, n) => at - triedAt[n]!);
    a!.singleton.failStart = 8;
    a!.runner.start();
    await time.pass(60_000);
    expect(pauses()).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    a!.singleton.failApplied = true;
    write();
    a!.singleton.failApplied = false;
    const failedAt = time.nowMs();
    await time.pass(1_000);
    expect(triedAt.at(-1)! - failedAt).toBe(250);
  });

  it('a singleton that fails in applied loses the term', async () => {
    const { time, members, write } = cluster(['a']);
    const [a] = members;
    a!.runner.start();
    await time.pass(1);
    a!.singleton.failApplied = true;
    write();
    expect(a!.singleton.calls).toEqual(['start 1', 'applied 2', 'stop']);
    write();
    expect(a!.singleton.calls).toEqual(['start 1', 'applied 2', 'stop']);
    a!.singleton.failApplied = false;
    a!.singleton.failStart = 1;
    await time.pass(250);
    expect(a!.singleton.calls.slice(3)).toEqual(['start 2', 'stop']);
    await time.pass(500);
    expect(a!.terms).toEqual([1, undefined, 3]); // nobody hears of the end of a term that did not begin
  });

  it('EB-142: a start that fails later gives the role back as well, unless its term is over by then', async () => {
    const { time, members, log } = cluster(['a']);
    const [a] = members;
    const fails: ((error: Error) => void)[] = [];
    const gate = () => (a!.singleton.startGate = new Promise((_, reject) => void fails.push(reject)));
    void gate();
    a!.runner.start();
    await time.pass(1);
    expect(a!.terms).toEqual([1]);
    fails[0]!(new Error('no database'));
    void gate();
    await time.pass(250);
    expect(a!.singleton.calls).toEqual(['start 1', 'stop', 'start 2']);
    a!.singleton.startGate = undefined;
    log.append(aRestore());
    await time.pass(1);
    fails[1]!(new Error('no database'));
    await time.pass(1);
    expect(a!.singleton.calls).toEqual(['start 1', 'stop', 'start 2', 'stop', 'start 4']);
    expect(a!.runner.epoch).toBe(4);
  });

  it('EB-142: a start that succeeds when its term is over does not shorten the pause after failures', async () => {
    const { time, members, log } = cluster(['a']);
    const [a] = members;
    a!.singleton.failStart = 1;
    a!.runner.start();
    await time.pass(1);
    let succeed = (): void => {};
    a!.singleton.startGate = new Promise((resolve) => (succeed = resolve));
    await time.pass(250);
    expect(a!.singleton.calls).toEqual(['start 1', 'stop', 'start 2']);
    a!.singleton.failStart = 1;
    log.append(aRestore());
    succeed();
    await time.pass(499);
    expect(a!.singleton.calls.slice(3)).toEqual(['stop', 'start 4', 'stop']);
    await time.pass(1);
    expect(a!.singleton.calls.at(-1)).toBe('start 5');
  });

  it('one that is stopped while its singleton still stops takes nothing any more, whatever becomes of the lease', async () => {
    const { time, store, members, log } = cluster(['a']);
    const [a] = members;
    a!.runner.start();
    await time.pass(1);
    let finish = (): void => {};
    a!.singleton.stopGate = new Promise((resolve) => (finish = resolve));
    const stopped = a!.runner.stop();
    store.reachable = false;
    await time.pass(TTL_MS);
    store.reachable = true;
    await time.pass(2 * TTL_MS);
    expect([log.drafts.length, a!.singleton.calls]).toEqual([1, ['start 1', 'stop']]);
    finish();
    await stopped;
  });

  it('one that was frozen while it proposed proposes nothing before it has the lease again', async () => {
    const { time, members, log } = cluster(['a']);
    const [a] = members;
    log.down = true;
    a!.runner.start();
    await time.pass(50);
    expect(log.proposals).toBe(1);
    time.freeze(TTL_MS - 100);
    await time.pass(0);
    expect(log.proposals).toBe(1);
    log.down = false;
    await time.pass(TTL_MS);
    expect(a!.singleton.calls).toEqual(['start 1']);
  });

  it('the lease of another role ends no term and begins none', async () => {
    const { time, members, log } = cluster(['a']);
    const [a] = members;
    a!.runner.start();
    await time.pass(1);
    const payload = { Role: 'nodes', Epoch: 1, Holder: 'a' };
    log.append({ ...log.drafts[0]!, requestId: 'other', payload } as TxnDraft);
    expect(a!.singleton.calls).toEqual(['start 1', 'applied 2']);
    expect(a!.runner.epoch).toBe(1);
  });

  it('proposes ten times a second while the log is down', async () => {
    const { time, members, log } = cluster(['a']);
    log.down = true;
    members[0]!.runner.start();
    await time.pass(199);
    expect(log.proposals).toBe(2);
    await time.pass(1);
    expect(log.proposals).toBe(3);
  });

  it('hears nothing of the log any more once it is stopped, and starts once', async () => {
    const { time, members, log } = cluster(['a']);
    const [a] = members;
    let listeners = 0;
    const onApplied = a!.copy.onApplied.bind(a!.copy);
    a!.copy.onApplied = (listener) => {
      listeners++;
      const off = onApplied(listener);
      return () => {
        listeners--;
        return off();
      };
    };
    a!.runner.start();
    a!.runner.start();
    expect(listeners).toBe(1);
    await time.pass(1);
    await a!.runner.stop();
    expect([listeners, log.drafts.length, time.pending]).toEqual([0, 1, 0]);
  });
});
