import { onBehalfOf } from '@waybill/writing';
import { Controller, Inject } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  Answers,
  failDeployment,
  pauseDeployment,
  promoteDeployment,
  RpcContext,
  setDeploymentAllocHealth,
  unblockDeployment,
  type DeploymentAllocHealthRequest,
  type DeploymentFailRequest,
  type DeploymentPauseRequest,
  type DeploymentPromoteRequest,
  type DeploymentUnblockRequest,
  type DeploymentUpdateResponse,
} from '@waybill/rpc';
import type { CommandOutcome } from './commands/deployment-commands.js';
import { OperatorCommands } from './commands/operator-commands.js';

/** RPC calls of the API on behalf of users (DP-1216). */
@Controller()
export class DeploymentsController {
  constructor(@Inject(OperatorCommands) private readonly commands: OperatorCommands) {}

  @Answers(pauseDeployment)
  pause(@Payload() request: DeploymentPauseRequest, @Ctx() context: RpcContext): Promise<DeploymentUpdateResponse> {
    return answered(
      this.commands.pause(request.DeploymentID, request.Pause, onBehalfOf(request.For, context.traceparent)),
    );
  }

  @Answers(promoteDeployment)
  promote(@Payload() request: DeploymentPromoteRequest, @Ctx() context: RpcContext): Promise<DeploymentUpdateResponse> {
    const wanted = { all: request.All, groups: request.Groups, promotedAtNs: request.PromotedAt };
    return answered(this.commands.promote(request.DeploymentID, wanted, onBehalfOf(request.For, context.traceparent)));
  }

  @Answers(failDeployment)
  fail(@Payload() request: DeploymentFailRequest, @Ctx() context: RpcContext): Promise<DeploymentUpdateResponse> {
    return answered(this.commands.fail(request.DeploymentID, onBehalfOf(request.For, context.traceparent)));
  }

  @Answers(unblockDeployment)
  unblock(@Payload() request: DeploymentUnblockRequest, @Ctx() context: RpcContext): Promise<DeploymentUpdateResponse> {
    return answered(this.commands.unblock(request.DeploymentID, onBehalfOf(request.For, context.traceparent)));
  }

  @Answers(setDeploymentAllocHealth)
  setHealth(
    @Payload() request: DeploymentAllocHealthRequest,
    @Ctx() context: RpcContext,
  ): Promise<DeploymentUpdateResponse> {
    const ids = { healthy: request.HealthyAllocationIDs, unhealthy: request.UnhealthyAllocationIDs };
    return answered(this.commands.setHealth(request.DeploymentID, ids, onBehalfOf(request.For, context.traceparent)));
  }
}

async function answered(command: Promise<CommandOutcome>): Promise<DeploymentUpdateResponse> {
  const { evalId, index, revertedVersion } = await command;
  return {
    EvalID: evalId,
    EvalCreateIndex: evalId === '' ? 0 : index,
    DeploymentModifyIndex: index,
    RevertedJobVersion: revertedVersion,
    Index: index,
  };
}
