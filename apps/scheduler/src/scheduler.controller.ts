import { Controller, Inject } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { type Clock, nsFromMs } from '@waybill/model';
import { ReplicaBehindError, type ReplicatedState } from '@waybill/replica';
import { Answers, planJob, type PlanJobRequest, type PlanJobResponse, RpcError } from '@waybill/rpc';
import { Refused } from '@waybill/state';
import { dryRun } from './dry-run.js';

/** For this copy of the state to reach what the asker has seen. */
const WAIT_FOR_INDEX_MS = 5_000;

export interface DryRunDeps {
  readonly state: ReplicatedState;
  readonly clock: Clock;
  readonly newId: () => string;
}

export const DRY_RUN_DEPS = Symbol('what dry runs need');

/** What the API asks a scheduler for, any of them: what would happen (API-141). */
@Controller()
export class SchedulerController {
  constructor(@Inject(DRY_RUN_DEPS) private readonly deps: DryRunDeps) {}

  @Answers(planJob)
  async plan(@Payload() request: PlanJobRequest): Promise<PlanJobResponse> {
    const { state, clock, newId } = this.deps;
    try {
      await state.waitFor(request.MinIndex, WAIT_FOR_INDEX_MS);
      return dryRun(state, request, { nowNs: nsFromMs(clock.nowMs()), newId });
    } catch (error) {
      if (error instanceof ReplicaBehindError) throw new RpcError('unavailable', error.message);
      if (error instanceof Refused) throw new RpcError('conflict', error.message);
      throw error;
    }
  }
}
