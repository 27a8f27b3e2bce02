import { Controller, Inject } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { encodeVariableMetadata } from '@waybill/model';
import {
  ack,
  Answers,
  createEval,
  dequeue,
  DEQUEUE_WAIT_MS,
  finish,
  forceGc,
  forcePeriodic,
  nack,
  reached,
  reap,
  reblockEval,
  renewLock,
  RpcContext,
  submitPlan,
  updateEval,
  type DequeueRequest,
  type DequeueResponse,
  type EvalToken,
  type EvalUpdateRequest,
  type FinishRequest,
  type ForcePeriodicRequest,
  type ForcePeriodicResponse,
  type IndexResponse,
  type ReachedRequest,
  type ReachedResponse,
  type ReapRequest,
  type RenewLockRequest,
  type RenewLockResponse,
  type SubmitPlanRequest,
  type SubmitPlanResponse,
} from '@waybill/rpc';
import { Broker, type Dequeued } from './broker.js';
import type { BrokerTimer } from './meter.js';

/** RPC calls of the holder of the role `broker`, most of them for workers. */
@Controller()
export class BrokerController {
  constructor(@Inject(Broker) private readonly broker: Broker) {}

  @Answers(dequeue)
  async dequeue(@Payload() request: DequeueRequest, @Ctx() context: RpcContext): Promise<DequeueResponse> {
    if (request.Worker) this.broker.lostWorkers.nackPreviousOf(request.Worker);
    const timeoutMs = Math.min(request.TimeoutMs, DEQUEUE_WAIT_MS);
    const dequeued = await this.timed('eval.dequeue', () =>
      this.broker.dequeue(request.Schedulers, timeoutMs, request.SchedulerVersion),
    );
    return this.answerOf(dequeued, request.Worker, context);
  }

  @Answers(ack)
  ack(@Payload() request: EvalToken): Promise<null> {
    return this.timed('eval.ack', () => {
      this.broker.ack(request.EvalID, request.Token);
      return null;
    });
  }

  @Answers(nack)
  nack(@Payload() request: EvalToken): Promise<null> {
    return this.timed('eval.nack', () => {
      this.broker.nack(request.EvalID, request.Token);
      return null;
    });
  }

  @Answers(finish)
  async finish(@Payload() request: FinishRequest, @Ctx() context: RpcContext): Promise<DequeueResponse> {
    const { Eval, Token, Steps, NextOf, Worker } = request;
    await this.updateEval({ Evals: [Eval], Token, Steps });
    await this.ack({ EvalID: Eval.ID, Token });
    const next = NextOf.length > 0 ? await this.timed('eval.dequeue', () => this.broker.dequeueReady(NextOf)) : null;
    return this.answerOf(next, Worker, context);
  }

  @Answers(updateEval)
  updateEval(@Payload() request: EvalUpdateRequest): Promise<IndexResponse> {
    return this.timed('eval.update', async () => ({
      Index: await this.broker.writes.update(request.Evals, request.Token, request.Steps),
    }));
  }

  @Answers(createEval)
  createEval(@Payload() request: EvalUpdateRequest): Promise<IndexResponse> {
    return this.timed('eval.create', async () => ({
      Index: await this.broker.writes.create(request.Evals, request.Token),
    }));
  }

  @Answers(reblockEval)
  reblockEval(@Payload() request: EvalUpdateRequest): Promise<IndexResponse> {
    return this.timed('eval.reblock', () => {
      this.broker.writes.reblock(request.Evals, request.Token);
      return { Index: 0 };
    });
  }

  @Answers(reap)
  reap(@Payload() request: ReapRequest): Promise<IndexResponse> {
    return this.timed('eval.reap', async () => ({ Index: await this.broker.writes.reap(request) }));
  }

  @Answers(forceGc)
  forceGc(): null {
    this.broker.forceGc();
    return null;
  }

  @Answers(forcePeriodic)
  async forcePeriodic(@Payload() { Namespace, JobID, AtIndex }: ForcePeriodicRequest): Promise<ForcePeriodicResponse> {
    const { evalId, index } = await this.broker.forceLaunch(Namespace, JobID, AtIndex);
    return { EvalID: evalId, Index: index };
  }

  @Answers(renewLock)
  async renewLock(@Payload() { Namespace, Path, LockID, AtIndex }: RenewLockRequest): Promise<RenewLockResponse> {
    const row = await this.broker.renewLock(Namespace, Path, LockID, AtIndex);
    return { Variable: encodeVariableMetadata(row, 'whole'), Index: row.ModifyIndex };
  }

  @Answers(reached)
  async reached(@Payload() { Index }: ReachedRequest): Promise<ReachedResponse> {
    return { Enabled: await this.broker.enabledAt(Index) };
  }

  @Answers(submitPlan)
  async submitPlan(@Payload() request: SubmitPlanRequest, @Ctx() context: RpcContext): Promise<SubmitPlanResponse> {
    const { Plan, Steps } = request;
    return { Result: await this.broker.submitPlan(Plan, context.traceparent, Steps) };
  }

  private answerOf(dequeued: Dequeued | null, worker: string | undefined, context: RpcContext): DequeueResponse {
    // A scheduler that dies, before or after it gets the answer, must not keep the evaluation for a whole nack timeout.
    if (dequeued) {
      const { evaluation, token } = dequeued;
      context.ifUndelivered(() => this.broker.nackIfUnacked(evaluation.ID, token));
      this.broker.lostWorkers.watch(worker ?? token, evaluation.ID, token, (ifGone) => context.checkCaller(ifGone));
    }
    return {
      Eval: dequeued?.evaluation ?? null,
      Token: dequeued?.token ?? '',
      WaitIndex: dequeued?.waitIndex ?? 0,
      Lease: dequeued?.lease,
      DueNs: dequeued?.dueNs ?? 0,
      Traceparent: dequeued?.traceparent ?? null,
    };
  }

  private timed<T>(timer: BrokerTimer, answer: () => T | Promise<T>): Promise<T> {
    return this.broker.timed(timer, async () => await answer());
  }
}
