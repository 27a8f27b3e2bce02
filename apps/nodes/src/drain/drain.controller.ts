import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  Answers,
  drainSelf,
  type NodeCommandResponse,
  type NodeDrainRequest,
  type NodeEligibilityRequest,
  RpcContext,
  type SelfDrainRequest,
  type SelfDrainState,
  selfDrainState,
  type SelfDrainStateRequest,
  updateNodeDrain,
  updateNodeEligibility,
} from '@waybill/rpc';
import { MachineCredentialPipe } from '@waybill/service';
import { DrainCommands } from './drain-commands.js';

/** Answers calls that change or read the drain and the eligibility of a node. */
@Controller()
export class DrainController {
  constructor(private readonly drains: DrainCommands) {}

  @Answers(updateNodeDrain)
  updateDrain(@Payload() request: NodeDrainRequest, @Ctx() context: RpcContext): Promise<NodeCommandResponse> {
    return this.drains.updateDrain(request, context.traceparent);
  }

  @Answers(drainSelf)
  drainSelf(
    @Payload(MachineCredentialPipe) request: SelfDrainRequest,
    @Ctx() context: RpcContext,
  ): Promise<NodeCommandResponse> {
    return this.drains.drainSelf(request, context.traceparent);
  }

  @Answers(selfDrainState)
  selfDrainState(@Payload(MachineCredentialPipe) request: SelfDrainStateRequest): Promise<SelfDrainState> {
    return this.drains.selfDrainState(request);
  }

  @Answers(updateNodeEligibility)
  updateEligibility(
    @Payload() request: NodeEligibilityRequest,
    @Ctx() context: RpcContext,
  ): Promise<NodeCommandResponse> {
    return this.drains.updateEligibility(request, context.traceparent);
  }
}
