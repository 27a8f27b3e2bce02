import { Controller, Inject } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import {
  Answers,
  apiAddress,
  type ApiPlace,
  deregisterInRegion,
  jobInThatRegion,
  registerInRegion,
  RpcContext,
  type RegionDeregistration,
  type RegionJob,
  type RegionJobRequest,
  type RegionRegistration,
  type RegionWritten,
} from '@waybill/rpc';
import { RegionJobs } from './region-jobs.js';

/** The ApiPlace of this instance, as other regions reach it. */
export const API_ADDRESS = Symbol('address of the API');

/** The controller of calls from the APIs of other regions. */
@Controller()
export class RegionCallsController {
  constructor(
    @Inject(RegionJobs) private readonly jobs: RegionJobs,
    @Inject(API_ADDRESS) private readonly place: ApiPlace,
  ) {}

  @Answers(apiAddress)
  where(): ApiPlace {
    return this.place;
  }

  @Answers(jobInThatRegion)
  stored(@Payload() request: RegionJobRequest): Promise<RegionJob> {
    return this.jobs.stored(request);
  }

  @Answers(registerInRegion)
  register(@Payload() request: RegionRegistration, @Ctx() context: RpcContext): Promise<RegionWritten> {
    return this.jobs.register(request, context.traceparent);
  }

  @Answers(deregisterInRegion)
  deregister(@Payload() request: RegionDeregistration, @Ctx() context: RpcContext): Promise<RegionWritten> {
    return this.jobs.deregister(request, context.traceparent);
  }
}
