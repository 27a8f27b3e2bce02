import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  Answers,
  deregisterServices,
  type DeregisterServicesRequest,
  type IndexResponse,
  namedServices,
  type NamedServicesRequest,
  type NamedServicesResponse,
  registerServices,
  type RegisterServicesRequest,
  RpcContext,
  serviceNames,
  type ServiceNamesRequest,
  type ServiceNamesResponse,
} from '@waybill/rpc';
import { MachineCredentialPipe } from '@waybill/service';
import { ServiceRegistrations } from './service-registrations.js';
import { ServiceQueries } from './service-queries.js';

/** Answers calls that register, deregister and look up services of allocations. */
@Controller()
export class ServicesController {
  constructor(
    private readonly registrations: ServiceRegistrations,
    private readonly queries: ServiceQueries,
  ) {}

  @Answers(registerServices)
  registerServices(
    @Payload(MachineCredentialPipe) request: RegisterServicesRequest,
    @Ctx() context: RpcContext,
  ): Promise<IndexResponse> {
    return this.registrations.register(request, context.traceparent);
  }

  @Answers(deregisterServices)
  deregisterServices(
    @Payload(MachineCredentialPipe) request: DeregisterServicesRequest,
    @Ctx() context: RpcContext,
  ): Promise<IndexResponse> {
    return this.registrations.deregister(request, context.traceparent);
  }

  @Answers(namedServices)
  namedServices(@Payload(MachineCredentialPipe) request: NamedServicesRequest): Promise<NamedServicesResponse> {
    return this.queries.named(request);
  }

  @Answers(serviceNames)
  serviceNames(@Payload(MachineCredentialPipe) request: ServiceNamesRequest): Promise<ServiceNamesResponse> {
    return this.queries.names(request);
  }
}
