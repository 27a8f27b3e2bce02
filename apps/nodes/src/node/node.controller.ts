import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  Answers,
  emitNodeEvents,
  evaluateNode,
  heartbeat,
  type IndexResponse,
  type NodeCommandRequest,
  type NodeCommandResponse,
  type NodeEventsRequest,
  purgeNode,
  registerNode,
  type NodeRegisterRequest,
  type NodeStatusRequest,
  type NodeUpdateResponse,
  RpcContext,
} from '@waybill/rpc';
import { MachineCredentialPipe } from '@waybill/service';
import { Registration } from './registration.js';
import { Heartbeats } from '../heartbeats/heartbeats.js';
import { NodeEvents } from './node-events.js';
import { NodeCommands } from './node-commands.js';

/** Answers calls about a node itself. The lease holder answers heartbeats, any replica the other calls. */
@Controller()
export class NodeController {
  constructor(
    private readonly registration: Registration,
    private readonly heartbeats: Heartbeats,
    private readonly events: NodeEvents,
    private readonly commands: NodeCommands,
  ) {}

  @Answers(registerNode)
  register(@Payload() request: NodeRegisterRequest, @Ctx() context: RpcContext): Promise<NodeUpdateResponse> {
    return this.registration.register(request, context.traceparent, context.machine);
  }

  @Answers(heartbeat)
  heartbeat(@Payload() request: NodeStatusRequest, @Ctx() context: RpcContext): Promise<NodeUpdateResponse> {
    return this.heartbeats.heartbeat(request, context.traceparent);
  }

  @Answers(emitNodeEvents)
  emitEvents(
    @Payload(MachineCredentialPipe) request: NodeEventsRequest,
    @Ctx() context: RpcContext,
  ): Promise<IndexResponse> {
    return this.events.emit(request, context.traceparent);
  }

  @Answers(purgeNode)
  purge(@Payload() request: NodeCommandRequest, @Ctx() context: RpcContext): Promise<NodeCommandResponse> {
    return this.commands.purge(request, context.traceparent);
  }

  @Answers(evaluateNode)
  evaluate(@Payload() request: NodeCommandRequest, @Ctx() context: RpcContext): Promise<NodeCommandResponse> {
    return this.commands.evaluate(request, context.traceparent);
  }
}
