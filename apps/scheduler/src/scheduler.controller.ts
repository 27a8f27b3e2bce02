import { Controller, Inject } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { type Clock, nsFromMs, Refusal } from '@waybill/model';
import { ReplicaBehindError, type ReplicatedState } from '@waybill/replica';
import {
  Answers,
  planJob,
  type PlanJobRequest,
  type PlanJobResponse,
  queuedPlacements,
  type QueuedPlacementsRequest,
  type QueuedPlacementsResponse,
  RpcError,
} from '@waybill/rpc';
import { dryRun } from './dry-run.js';
import { queuedPlacementsOf } from './queued-placements.js';

/** Longest time until this copy of the state must reach the index that the caller has seen. */
const WAIT_FOR_INDEX_MS = 5_000;

export interface DryRunDeps {
  readonly state: ReplicatedState;
  readonly clock: Clock;
  readonly newId: () => string;
}

export const DRY_RUN_DEPS = Symbol('what dry runs need');

/** RPC calls of the API to any scheduler: dry runs (API-141). */
@Controller()
export class SchedulerController {
  constructor(@Inject(DRY_RUN_DEPS) private readonly deps: DryRunDeps) {}

  @Answers(planJob)
  plan(@Payload() request: PlanJobRequest): Promise<PlanJobResponse> {
    const { state, clock, newId } = this.deps;
    return this.asOf(request, () => dryRun(state, request, { nowNs: nsFromMs(clock.nowMs()), newId }));
  }

  @Answers(queuedPlacements)
  queued(@Payload() request: QueuedPlacementsRequest): Promise<QueuedPlacementsResponse> {
    return this.asOf(request, () => queuedPlacementsOf(this.deps.state, request.After, this.deps));
  }

  private async asOf<T>({ MinIndex }: { readonly MinIndex: number }, answer: () => T): Promise<T> {
    try {
      await this.deps.state.waitFor(MinIndex, WAIT_FOR_INDEX_MS);
      return answer();
    } catch (error) {
      if (error instanceof ReplicaBehindError) throw new RpcError('unavailable', error.message);
      if (error instanceof Refusal) throw new RpcError('conflict', error.message);
      throw error;
    }
  }
}
