import type { Author } from '@waybill/writing';
import { Controller, Inject } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  Answers,
  regionRollout,
  rolloutChanged,
  RpcContext,
  runInRegion,
  unblockInRegion,
  type RegionDeploymentAnswer,
  type RegionDeploymentRequest,
  type RegionRollout,
  type RolloutName,
} from '@waybill/rpc';
import { DeploymentWatchers } from '../watching/deployment-watchers.js';
import { RegionCommands } from './region-commands.js';
import { progressHere } from './region-rollouts.js';

/** RPC calls of other regions about rollouts that they share with this one. */
@Controller()
export class RegionsController {
  constructor(
    @Inject(DeploymentWatchers) private readonly watchers: DeploymentWatchers,
    @Inject(RegionCommands) private readonly commands: RegionCommands,
  ) {}

  @Answers(regionRollout)
  rolloutProgress(@Payload() name: RolloutName): RegionRollout {
    return progressHere(this.watchers.watching.tables, name);
  }

  @Answers(runInRegion)
  runDeployment(
    @Payload() request: RegionDeploymentRequest,
    @Ctx() context: RpcContext,
  ): Promise<RegionDeploymentAnswer> {
    return this.carryOut(request, () => this.commands.start(request.DeploymentID, askedBy(request, context)));
  }

  @Answers(unblockInRegion)
  unblockDeployment(
    @Payload() request: RegionDeploymentRequest,
    @Ctx() context: RpcContext,
  ): Promise<RegionDeploymentAnswer> {
    // A successful deployment needs no further step of the rollout (DP-1117).
    if (this.statusOf(request.DeploymentID) === 'successful') return Promise.resolve({ Status: 'successful' });
    return this.carryOut(request, () => this.commands.unblock(request.DeploymentID, askedBy(request, context)));
  }

  @Answers(rolloutChanged)
  pollRollout(@Payload() name: RolloutName): null {
    this.watchers.regionRollouts?.pollRollout(name);
    return null;
  }

  private async carryOut(
    request: RegionDeploymentRequest,
    command: () => Promise<unknown>,
  ): Promise<RegionDeploymentAnswer> {
    await command();
    return { Status: this.statusOf(request.DeploymentID) ?? 'cancelled' }; // it was purged meanwhile
  }

  private statusOf(id: string): RegionDeploymentAnswer['Status'] | undefined {
    return this.watchers.watching.tables.deployment.get(id)?.Status;
  }
}

const askedBy = ({ From }: RegionDeploymentRequest, context: RpcContext): Partial<Author> => ({
  reason: `region ${From}`,
  traceparent: context.traceparent,
});
