import { setTimeout as delay } from 'node:timers/promises';
import { freeze, thaw } from '../support/freeze.js';
import { type ServiceName, type WaybillProcesses } from '../support/waybill-processes.js';
import { type Fault, nextFault, type Random } from './fault-plan.js';

/** A process of a service, and with what it is started again. */
export interface Member {
  readonly service: ServiceName;
  readonly env?: NodeJS.ProcessEnv;
}

const SERVERS = ['nats-server', 'postgres'] as const;

/**
 * Kills and freezes processes, one after the other, by its seed; what was killed is started again, and servers start by
 * themselves. at work → asked to stop → everything runs again.
 */
export class Adversary {
  kills = 0;
  freezes = 0;
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
  }

  private async torment(): Promise<void> {
    const victims = [...this.members.keys(), ...SERVERS];
    while (!this.stopper.signal.aborted) {
      const fault = nextFault(this.random, victims);
      await this.carryOut(fault);
      await delay(fault.thenMs);
    }
  }

  private async carryOut(fault: Fault): Promise<void> {
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
