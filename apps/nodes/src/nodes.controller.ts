import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  allocsById,
  type AllocsByIdRequest,
  type AllocsByIdResponse,
  Answers,
  deregisterServices,
  drainSelf,
  type DeregisterServicesRequest,
  emitNodeEvents,
  evaluateNode,
  heartbeat,
  type IndexResponse,
  type ListFilesResponse,
  listPreviousDisk,
  listVariables,
  type ListVariablesRequest,
  type ListVariablesResponse,
  type ListPreviousDiskRequest,
  namedServices,
  type NamedServicesRequest,
  type NamedServicesResponse,
  nodeAllocs,
  type NodeAllocsRequest,
  type NodeAllocsResponse,
  type NodeCommandRequest,
  type NodeCommandResponse,
  type NodeDrainRequest,
  type NodeEligibilityRequest,
  type NodeEventsRequest,
  purgeNode,
  type ReadFileResponse,
  readPreviousDisk,
  readVariable,
  type ReadVariableRequest,
  type ReadVariableResponse,
  type ReadPreviousDiskRequest,
  registerNode,
  registerServices,
  type RegisterServicesRequest,
  type NodeRegisterRequest,
  type NodeStatusRequest,
  type NodeUpdateResponse,
  RpcContext,
  type SelfDrainRequest,
  type SelfDrainState,
  selfDrainState,
  type SelfDrainStateRequest,
  serviceNames,
  type ServiceNamesRequest,
  type ServiceNamesResponse,
  signIdentities,
  type SignIdentitiesRequest,
  type SignIdentitiesResponse,
  updateAllocs,
  updateNodeDrain,
  updateNodeEligibility,
  type AllocUpdateRequest,
  type AllocUpdateResponse,
} from '@waybill/rpc';
import { AllocQueries } from './allocations/alloc-queries.js';
import { AllocUpdates } from './allocations/alloc-updates.js';
import { DrainCommands } from './drain/drain-commands.js';
import { Heartbeats } from './heartbeats/heartbeats.js';
import { NodeCommands } from './node/node-commands.js';
import { NodeEvents } from './node/node-events.js';
import { PreviousDisks } from './allocations/previous-disks.js';
import { IdentitySigning } from './identities/identity-signing.js';
import { Registration } from './node/registration.js';
import { ServiceQueries } from './allocations/service-queries.js';
import { VariableQueries } from './variables/variable-queries.js';
import { ServiceRegistrations } from './allocations/service-registrations.js';

/** RPC calls of agents, and of the API for users. The lease holder answers heartbeats, any replica the rest. */
@Controller()
export class NodesController {
  constructor(
    private readonly registration: Registration,
    private readonly heartbeats: Heartbeats,
    private readonly queries: AllocQueries,
    private readonly updates: AllocUpdates,
    private readonly events: NodeEvents,
    private readonly commands: NodeCommands,
    private readonly drains: DrainCommands,
    private readonly services: ServiceRegistrations,
    private readonly serviceQueries: ServiceQueries,
    private readonly disks: PreviousDisks,
    private readonly identities: IdentitySigning,
    private readonly variables: VariableQueries,
  ) {}

  @Answers(registerNode)
  register(@Payload() request: NodeRegisterRequest, @Ctx() context: RpcContext): Promise<NodeUpdateResponse> {
    return this.registration.register(request, context.traceparent);
  }

  @Answers(heartbeat)
  heartbeat(@Payload() request: NodeStatusRequest, @Ctx() context: RpcContext): Promise<NodeUpdateResponse> {
    return this.heartbeats.heartbeat(request, context.traceparent);
  }

  @Answers(nodeAllocs)
  nodeAllocs(@Payload() request: NodeAllocsRequest): Promise<NodeAllocsResponse> {
    return this.queries.nodeAllocs(request);
  }

  @Answers(allocsById)
  allocsById(@Payload() request: AllocsByIdRequest): Promise<AllocsByIdResponse> {
    return this.queries.allocsById(request);
  }

  @Answers(updateAllocs)
  updateAllocs(@Payload() request: AllocUpdateRequest, @Ctx() context: RpcContext): Promise<AllocUpdateResponse> {
    return this.updates.update(request, context.traceparent);
  }

  @Answers(emitNodeEvents)
  emitEvents(@Payload() request: NodeEventsRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    return this.events.emit(request, context.traceparent);
  }

  @Answers(registerServices)
  registerServices(@Payload() request: RegisterServicesRequest, @Ctx() context: RpcContext): Promise<IndexResponse> {
    return this.services.register(request, context.traceparent);
  }

  @Answers(deregisterServices)
  deregisterServices(
    @Payload() request: DeregisterServicesRequest,
    @Ctx() context: RpcContext,
  ): Promise<IndexResponse> {
    return this.services.deregister(request, context.traceparent);
  }

  @Answers(namedServices)
  namedServices(@Payload() request: NamedServicesRequest): Promise<NamedServicesResponse> {
    return this.serviceQueries.named(request);
  }

  @Answers(serviceNames)
  serviceNames(@Payload() request: ServiceNamesRequest): Promise<ServiceNamesResponse> {
    return this.serviceQueries.names(request);
  }

  @Answers(signIdentities)
  signIdentities(@Payload() request: SignIdentitiesRequest): Promise<SignIdentitiesResponse> {
    return this.identities.sign(request);
  }

  @Answers(readVariable)
  readVariable(@Payload() request: ReadVariableRequest): Promise<ReadVariableResponse> {
    return this.variables.readVariable(request);
  }

  @Answers(listVariables)
  listVariables(@Payload() request: ListVariablesRequest): Promise<ListVariablesResponse> {
    return this.variables.list(request);
  }

  @Answers(listPreviousDisk)
  listPreviousDisk(@Payload() request: ListPreviousDiskRequest): Promise<ListFilesResponse> {
    return this.disks.list(request);
  }

  @Answers(readPreviousDisk)
  readPreviousDisk(@Payload() request: ReadPreviousDiskRequest): Promise<ReadFileResponse> {
    return this.disks.readFile(request);
  }

  @Answers(purgeNode)
  purge(@Payload() request: NodeCommandRequest, @Ctx() context: RpcContext): Promise<NodeCommandResponse> {
    return this.commands.purge(request, context.traceparent);
  }

  @Answers(evaluateNode)
  evaluate(@Payload() request: NodeCommandRequest, @Ctx() context: RpcContext): Promise<NodeCommandResponse> {
    return this.commands.evaluate(request, context.traceparent);
  }

  @Answers(updateNodeDrain)
  updateDrain(@Payload() request: NodeDrainRequest, @Ctx() context: RpcContext): Promise<NodeCommandResponse> {
    return this.drains.updateDrain(request, context.traceparent);
  }

  @Answers(drainSelf)
  drainSelf(@Payload() request: SelfDrainRequest, @Ctx() context: RpcContext): Promise<NodeCommandResponse> {
    return this.drains.drainSelf(request, context.traceparent);
  }

  @Answers(selfDrainState)
  selfDrainState(@Payload() request: SelfDrainStateRequest): Promise<SelfDrainState> {
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
