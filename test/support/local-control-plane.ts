import { Broker, BrokerController, type BrokerDeps } from '@waybill/broker';
import { termOf } from '@waybill/roles';
import type { Clock, Timers } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { RpcContext, RpcUnavailableError, type AskOptions, type Call, type Rpc } from '@waybill/rpc';
import { Worker } from '@waybill/scheduler';
import { draftTxn, serviceActor, type Proposed, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';

/** Broker and scheduler workers in one process over a local log, through the same calls as over NATS. */
export class LocalControlPlane implements Rpc {
  readonly state = new LocalState();
  readonly broker: Broker;
  private readonly controller: BrokerController;
  private readonly workers: Worker[] = [];
  private ids = 0;
  private requests = 0;
  /** For tests in which something else happens just before or after a call is carried out. */
  around: ((call: string, request: unknown, carryOut: () => Promise<unknown>) => Promise<unknown>) | undefined;

  constructor(
    readonly clock: Clock,
    private readonly timers: Timers,
    over: Partial<BrokerDeps> = {},
  ) {
    this.broker = new Broker({
      state: this.state,
      clock,
      timers,
      newId: this.newId,
      random: () => 0.5,
      logger: silentLogger,
      tracer: () => tracerFor('test'),
      region: 'global',
      ...over,
    });
    this.controller = new BrokerController(this.broker);
  }

  readonly newId = (): string => `11111111-1111-4111-8111-${(++this.ids).toString(16).padStart(12, '0')}`;

  async start(workers = 1): Promise<void> {
    await this.write('Initialise', {});
    this.state.onApplied((applied) => this.broker.applied(applied));
    await this.takeOver();
    this.addWorkers(workers);
  }

  addWorkers(workers: number): void {
    for (let i = 0; i < workers; i++) {
      const worker = new Worker({
        rpc: this,
        state: this.state,
        clock: this.clock,
        timers: this.timers,
        newId: this.newId,
        logger: silentLogger,
        tracer: () => tracerFor('test'),
      });
      this.workers.push(worker);
      worker.start();
    }
  }

  /** Begins the next term of the broker. */
  async takeOver(): Promise<void> {
    const role = 'broker';
    const epoch = this.state.machine.epochOf(role) + 1;
    await this.write('LeaseAcquired', { Role: role, Epoch: epoch, Holder: 'test' });
    await this.broker.start(termOf(role, epoch));
  }

  async stop(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
    await this.broker.stop();
  }

  write<T extends TxnType>(type: T, payload: TxnPayloads[T]): Promise<Proposed> {
    return this.state.propose(
      draftTxn(type, payload, {
        timeNs: this.clock.nowMs() * 1e6,
        requestId: `write-${++this.requests}`,
        actor: serviceActor('test'),
        namespace: 'default',
      }),
    );
  }

  async ask<Req, Res>(call: Call<Req, Res>, request: Req, options: AskOptions = {}): Promise<Res> {
    const method = call.name.split('.')[1] as 'dequeue';
    if (typeof this.controller[method] !== 'function') throw new RpcUnavailableError(call.name, 'no responder');
    // What goes over the wire is JSON.
    const sent = JSON.parse(JSON.stringify(request)) as never;
    const handler = this.controller[method] as (r: never, c: RpcContext) => Promise<unknown>;
    const carryOut = () => handler.call(this.controller, sent, new RpcContext([options.traceparent]));
    const answer = await (this.around ? this.around(call.name, sent, carryOut) : carryOut());
    return JSON.parse(JSON.stringify(answer)) as Res;
  }
}
