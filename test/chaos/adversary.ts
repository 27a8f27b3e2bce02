import { setTimeout as delay } from 'node:timers/promises';
import { freeze, thaw } from '../support/freeze.js';
import { type ServiceName, type WaybillProcesses } from '../support/waybill-processes.js';
import type { SettableClock } from '../support/set-clock.js';
import { type ClockFault, type Fault, nextClockFault, nextFault, type Random } from './fault-plan.js';

/** A process of a service, and with what it is started again. */
export interface Member {
  readonly service: ServiceName;
  readonly env?: NodeJS.ProcessEnv;
  /** Absent: its clock cannot be set. */
  readonly clock?: SettableClock;
}

const SERVERS = ['nats-server', 'postgres'] as const;

/**
 * Kills and freezes processes, one after the other, by its seed; what was killed is started again, and servers start by
 * themselves. at work → asked to stop → everything runs again.
 */
export class Adversary {
  kills = 0;
  freezes = 0;
  clocks = 0;
  /** Clocks that are wrong at present. */
  private readonly wrong = new Set<Promise<void>>();
  private readonly stopper = new AbortController();
  private work: Promise<void> = Promise.resolve();

  constructor(
    private readonly waybill: WaybillProcesses,
    private readonly members: ReadonlyMap<string, Member>,
    private readonly random: Random,
    private readonly say: (line: string) => void,
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
    const victims = [...this.members.keys(), ...SERVERS];
    while (!this.stopper.signal.aborted) {
      const fault = this.next(victims);
      if (fault.kind === 'clock') this.setClock(fault);
      else await this.carryOut(fault);
      await delay(fault.thenMs);
    }
  }

  /** Where clocks can be set, every third fault is a clock that is wrong for a while, beside the others. */
  private next(victims: readonly string[]): Fault {
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
    await this.waybill.startService(member.service, victim, member.env);
  }

  private pidOf(victim: string): number {
    const { stack } = this.waybill;
    if (victim === 'nats-server') return stack.nats.pid;
    return victim === 'postgres' ? stack.postgres.pid : this.waybill.pid(victim);
  }
}
