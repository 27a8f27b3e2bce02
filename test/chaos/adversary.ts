import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freeze, thaw } from '../support/freeze.js';
import { SyncedCopy } from '../support/power-cut.js';
import { type ServiceName, type WaybillProcesses } from '../support/waybill-processes.js';
import type { SettableClock } from '../support/set-clock.js';
import {
  type ClockFault,
  type Fault,
  nextClockFault,
  nextCut,
  nextFault,
  type Random,
  unsyncedAtMostMs,
} from './fault-plan.js';
import type { PowerCut } from './history.js';
import { Operator, type Watched } from './operator.js';

/** A process of a service, and with what it is started again. */
export interface Member {
  readonly service: ServiceName;
  readonly env?: NodeJS.ProcessEnv;
  /** Absent: its clock cannot be set. */
  readonly clock?: SettableClock;
}

const SERVERS = ['nats-server', 'postgres'] as const;

/** How an adversary cuts power. */
export interface PowerCuts {
  /** `sync_interval` of the nats-server. */
  readonly syncInterval: string;
  /** Of the faults those that are cuts, at most 1. */
  readonly share: number;
  /** Lines that tasks have written so far. */
  readonly linesWritten: () => number;
}

/**
 * Kills and freezes processes, one after the other, by its seed; what was killed is started again, and servers start by
 * themselves. If it cuts power, some faults are that nats-server loses what it wrote last, and an operator decides.
 * at work → asked to stop → everything runs again.
 */
export class Adversary {
  kills = 0;
  freezes = 0;
  clocks = 0;
  /** Clocks that are wrong at present. */
  private readonly wrong = new Set<Promise<void>>();
  readonly cuts: PowerCut[] = [];
  private readonly starting = new Set<string>();
  private readonly stopper = new AbortController();
  /** Told of each cut once it is decided, with how many there were. */
  onCut: (cuts: number) => void = () => {};
  /** Rejects when something could not be started, or did not get well. */
  work: Promise<void> = Promise.resolve();

  constructor(
    private readonly waybill: WaybillProcesses,
    private readonly members: ReadonlyMap<string, Member>,
    private readonly random: Random,
    private readonly say: (line: string) => void,
    private readonly powerCuts?: PowerCuts,
  ) {}

  begin(): void {
    this.work = this.torment();
  }

  /** Resolves when everything runs again; rejects when something could not be started. */
  async stop(): Promise<void> {
    this.stopper.abort();
    await this.work;
    await Promise.all(this.wrong);
  }

  private async torment(): Promise<void> {
    while (!this.stopper.signal.aborted) {
      const fault = this.next();
      if (fault.kind === 'clock') this.setClock(fault);
      else await this.carryOut(fault);
      await delay(fault.thenMs);
    }
  }

  /** Where clocks can be set, every third fault is a clock that is wrong for a while, beside the others. */
  private next(): Fault {
    const { powerCuts, random } = this;
    if (powerCuts && random() < powerCuts.share) return nextCut(random, unsyncedAtMostMs(powerCuts.syncInterval));
    const victims = [...this.members.keys(), ...SERVERS];
    const settable = [...this.members].flatMap(([name, { clock }]) => (clock ? [name] : []));
    if (settable.length === 0 || this.random() >= 1 / 3) return nextFault(this.random, victims);
    return nextClockFault(this.random, settable);
  }

  private setClock({ victim, aheadS, gain, wrongMs }: ClockFault): void {
    const clock = this.members.get(victim)?.clock;
    if (!clock) return;
    this.clocks++;
    this.say(`clock of ${victim} ${aheadS === 0 ? `gains ${gain * 100} %` : `${aheadS} s ahead`} for ${wrongMs} ms`);
    clock.set(aheadS, gain);
    const right = delay(wrongMs, undefined, { signal: this.stopper.signal })
      .catch(() => undefined)
      .then(() => {
        clock.right();
        this.wrong.delete(right);
      });
    this.wrong.add(right);
  }

  private async carryOut(fault: Exclude<Fault, ClockFault>): Promise<void> {
    if (fault.kind === 'cut') return this.cutPower(fault.unsyncedMs);
    const { victim } = fault;
    if (fault.kind === 'freeze') {
      this.freezes++;
      this.say(`freeze ${victim} for ${fault.frozenMs} ms`);
      const pid = this.pidOf(victim);
      await freeze(pid);
      await delay(fault.frozenMs);
      thaw(pid);
      return;
    }
    this.kills++;
    this.say(`kill ${victim} for ${fault.downMs} ms`);
    const member = this.members.get(victim);
    if (!member) {
      process.kill(this.pidOf(victim), 'SIGKILL');
      await delay(fault.downMs);
      return;
    }
    await this.waybill.kill(victim);
    await delay(fault.downMs);
    await this.waybill.startSupervised(member.service, victim, member.env);
  }

  /** Takes what nats-server wrote within the last `unsyncedMs`, all of it acknowledged; 0: nothing that it acknowledged. */
  private async cutPower(unsyncedMs: number): Promise<void> {
    const { stack, dir } = this.waybill;
    const from = this.powerCuts?.linesWritten() ?? 0;
    let syncedMs = Infinity;
    if (unsyncedMs > 0) {
      const synced = await SyncedCopy.take(stack.nats, path.join(dir, 'stack', 'nats'));
      syncedMs = synced.atMs;
      await delay(unsyncedMs);
      await synced.cutPower();
    } else process.kill(stack.nats.pid, 'SIGKILL');
    const cutMs = performance.now();
    this.say(`power cut ${this.cuts.length + 1}: what was written in the last ${unsyncedMs} ms is gone`);
    const decision = await new Operator(this.waybill, this.say).decide(this.watched());
    this.cuts.push({
      syncedMs,
      cutMs,
      decidedMs: performance.now(),
      lines: { from, to: this.powerCuts?.linesWritten() ?? 0 },
      ...decision,
    });
    this.onCut(this.cuts.length);
  }

  private watched(): Watched[] {
    return [...this.members].map(([name, { service, env }]) => ({
      name,
      restart: () => {
        const child = this.waybill.running.get(name)?.child;
        if (this.starting.has(name) || (child && child.exitCode === null && child.signalCode === null)) return;
        this.starting.add(name);
        this.waybill
          .startService(service, name, env)
          .catch((error: unknown) => this.say(`${name} did not start: ${String(error)}`))
          .finally(() => this.starting.delete(name));
      },
    }));
  }

  private pidOf(victim: string): number {
    const { stack } = this.waybill;
    if (victim === 'nats-server') return stack.nats.pid;
    return victim === 'postgres' ? stack.postgres.pid : this.waybill.pid(victim);
  }
}
