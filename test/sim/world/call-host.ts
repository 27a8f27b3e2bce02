import { subjectBetweenRegions, subjectOfCall } from '@waybill/rpc';
import type { Role } from '@waybill/state';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { AnsweredCall } from './call-answers.js';
import type { CallExchange } from './call-exchange.js';

/** What one process answers: calls of a role between `enter` and `leave`, the others until it dies. */
export class CallHost {
  private readonly ofRole = new Map<Role, (() => void)[]>();

  constructor(
    private readonly process: SimulatedProcess,
    private readonly exchange: CallExchange,
    private readonly calls: readonly AnsweredCall[],
    private readonly region: string,
  ) {
    for (const call of calls) if (call.role === undefined) this.subscribe(call, call.name);
  }

  enter(role: Role): void {
    this.leave(role);
    const calls = this.calls.filter((call) => call.role === role);
    this.ofRole.set(
      role,
      calls.map((call) => this.subscribe(call, undefined)),
    );
  }

  leave(role: Role): void {
    for (const unsubscribe of this.ofRole.get(role) ?? []) unsubscribe();
    this.ofRole.delete(role);
  }

  private subscribe({ name, betweenRegions, answer }: AnsweredCall, queue: string | undefined): () => void {
    const subject = betweenRegions ? subjectBetweenRegions(this.region, name) : subjectOfCall(name);
    return this.exchange.subscribe(subject, { process: this.process, queue, answer });
  }
}
