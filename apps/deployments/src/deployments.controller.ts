import { Controller, Inject } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import type { AskedBy } from '@waybill/lease';
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
  type OnBehalfOf,
} from '@waybill/rpc';
import { answered as orRefused } from './commands/command-answers.js';
import type { CommandOutcome } from './commands/deployment-commands.js';
import { OperatorCommands } from './commands/operator-commands.js';

/** What the API asks the holder of the role for a user (DP-1216). */
@Controller()
export class DeploymentsController {
  constructor(@Inject(OperatorCommands) private readonly commands: OperatorCommands) {}

  @Answers(pauseDeployment)
  pause(@Payload() request: DeploymentPauseRequest, @Ctx() context: RpcContext): Promise<DeploymentUpdateResponse> {
    return answered(() => this.commands.pause(request.DeploymentID, request.Pause, askedBy(request, context)));
  }

  @Answers(promoteDeployment)
  promote(@Payload() request: DeploymentPromoteRequest, @Ctx() context: RpcContext): Promise<DeploymentUpdateResponse> {
    const wanted = { all: request.All, groups: request.Groups, promotedAtNs: request.PromotedAt };
    return answered(() => this.commands.promote(request.DeploymentID, wanted, askedBy(request, context)));
  }

  @Answers(failDeployment)
  fail(@Payload() request: DeploymentFailRequest, @Ctx() context: RpcContext): Promise<DeploymentUpdateResponse> {
    return answered(() => this.commands.fail(request.DeploymentID, askedBy(request, context)));
  }

  @Answers(unblockDeployment)
  unblock(@Payload() request: DeploymentUnblockRequest, @Ctx() context: RpcContext): Promise<DeploymentUpdateResponse> {
    return answered(() => this.commands.unblock(request.DeploymentID, askedBy(request, context)));
  }

  @Answers(setDeploymentAllocHealth)
  setHealth(
    @Payload() request: DeploymentAllocHealthRequest,
    @Ctx() context: RpcContext,
  ): Promise<DeploymentUpdateResponse> {
    const ids = { healthy: request.HealthyAllocationIDs, unhealthy: request.UnhealthyAllocationIDs };
    return answered(() => this.commands.setHealth(request.DeploymentID, ids, askedBy(request, context)));
  }
}

function askedBy(request: { readonly For: OnBehalfOf }, context: RpcContext): AskedBy {
  const { Actor, Reason, RequestID } = request.For;
  return { actor: Actor, reason: Reason, requestId: RequestID, traceparent: context.traceparent };
}

function answered(command: () => Promise<CommandOutcome>): Promise<DeploymentUpdateResponse> {
  return orRefused(async () => {
    const { evalId, index, revertedVersion } = await command();
    return {
      EvalID: evalId,
      EvalCreateIndex: evalId === '' ? 0 : index,
      DeploymentModifyIndex: index,
      RevertedJobVersion: revertedVersion,
      Index: index,
    };
  });
}
