import { Module } from '@nestjs/common';
import { made } from '../core.module.js';
import { DeregisterEverywhere } from '../regions/deregister-everywhere.js';
import { RegionJobs, regionJobsOf } from '../regions/region-jobs.js';
import { RegionsModule } from '../regions/regions.module.js';
import { RegisterEverywhere } from '../regions/register-everywhere.js';
import { DeregisterJob } from './deregister-job.js';
import { DispatchJob } from './dispatch-job.js';
import { EvaluateJob } from './evaluate-job.js';
import { ForceLaunch } from './force-launch.js';
import { JobAdmission } from './job-admission.js';
import { JobList } from './job-list.js';
import { JobParseController } from './job-parse.controller.js';
import { JobParser } from './job-parser.transport.js';
import { JobStability } from './job-stability.js';
import { JobStatuses } from './job-statuses.js';
import { deregisterJobOf, registerJobOf } from './job-writers.js';
import { JobVersionTags } from './job-version-tags.js';
import { JobWritesController } from './job-writes.controller.js';
import { JobsController } from './jobs.controller.js';
import { PlanJob } from './plan-job.js';
import { RegisterJob } from './register-job.js';
import { RegisterRequests } from './register-request.js';
import { RevertJob } from './revert-job.js';
import { ScaleJob } from './scale-job.js';

@Module({
  imports: [RegionsModule],
  controllers: [JobParseController, JobWritesController, JobsController],
  providers: [
    made(JobParser, ({ context: { timers } }) => new JobParser(timers)),
    made(JobList, ({ model, reads }) => new JobList(model, reads)),
    made(JobStatuses, ({ model, reads }) => new JobStatuses(model, reads)),
    made(RegisterRequests, ({ context: { settings, clock } }) => new RegisterRequests(settings.WAYBILL_REGION, clock)),
    made(JobAdmission, ({ lookup }) => new JobAdmission(lookup)),
    made(RegisterJob, registerJobOf),
    made(RegionJobs, regionJobsOf),
    made(
      RegisterEverywhere,
      ({ context }, admission, register, here) => new RegisterEverywhere(context.regions, admission, register, here),
      JobAdmission,
      RegisterJob,
      RegionJobs,
    ),
    made(
      DeregisterEverywhere,
      ({ context }, deregister) => new DeregisterEverywhere(context.regions, deregister),
      DeregisterJob,
    ),
    made(
      ScaleJob,
      ({ writer, model, readable, context: { log, clock, newId } }, register) =>
        new ScaleJob(log, writer, register, model, readable, clock, newId),
      RegisterJob,
    ),
    made(
      DispatchJob,
      ({ writer, lookup, readable, context: { log, clock, newId } }, register) =>
        new DispatchJob(log, writer, register, lookup, readable, clock, newId),
      RegisterJob,
    ),
    made(
      RevertJob,
      ({ model, readable, context: { log } }, register) => new RevertJob(log, register, model, readable),
      RegisterJob,
    ),
    made(JobVersionTags, ({ writer, context: { settings, clock } }) => {
      return new JobVersionTags(writer, settings.WAYBILL_REGION, clock);
    }),
    made(
      PlanJob,
      ({ parts: { feed }, context: { log, rpc, regions, clock } }, admission) =>
        new PlanJob(admission, log, rpc, regions.own, () => feed.applied, clock),
      JobAdmission,
    ),
    made(JobStability, ({ writer, model, readable, context: { log, clock } }) => {
      return new JobStability(log, writer, model, readable, clock);
    }),
    made(DeregisterJob, deregisterJobOf),
    made(EvaluateJob, ({ writer, model, readable, context: { log, clock, newId } }) => {
      return new EvaluateJob(log, writer, model, readable, clock, newId);
    }),
    made(ForceLaunch, ({ calls, readable, context: { log } }) => new ForceLaunch(log, calls, readable)),
  ],
  exports: [JobList],
})
export class JobsModule {}
