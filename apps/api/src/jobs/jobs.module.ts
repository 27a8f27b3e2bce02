import { Module } from '@nestjs/common';
import { composed, made } from '../core.module.js';
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
import { JobSubmission } from './job-submission.js';
import { JobValidationController } from './job-validation.controller.js';
import { JobVersionWrites } from './job-version-writes.js';
import { JobRuns } from './job-runs.js';
import { RegionForwarding } from '../regions/forwarding.transport.js';
import { admissionOf, deregisterJobOf, loginClustersOf, registerJobOf } from './job-writers.js';
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
  controllers: [JobParseController, JobValidationController, JobWritesController, JobsController],
  providers: [
    made(JobParser, ({ context: { timers } }) => new JobParser(timers)),
    made(JobList, ({ model, reads }) => new JobList(model, reads)),
    made(JobStatuses, ({ model, reads }) => new JobStatuses(model, reads)),
    made(
      RegisterRequests,
      ({ context: { settings, clock } }) =>
        new RegisterRequests(settings.WAYBILL_REGION, clock, loginClustersOf(settings)),
    ),
    made(JobAdmission, admissionOf),
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
      ({ context, jobs }, deregister) => new DeregisterEverywhere(context.regions, deregister, jobs),
      DeregisterJob,
    ),
    made(
      ScaleJob,
      ({ writes, jobs, model, context: { newId } }, register) =>
        new ScaleJob({ writer: writes, jobs, register, read: model, newId }),
      RegisterJob,
    ),
    made(
      DispatchJob,
      ({ writes, jobs, lookup, context: { newId } }, register) =>
        new DispatchJob({ writer: writes, jobs, register, read: lookup, newId }),
      RegisterJob,
    ),
    made(RevertJob, ({ jobs, model }, register) => new RevertJob(jobs, register, model), RegisterJob),
    made(JobVersionTags, ({ writes }) => new JobVersionTags(writes)),
    made(
      PlanJob,
      ({ parts: { feed }, context: { log, rpc, regions, clock } }, admission) =>
        new PlanJob({ admission, log, rpc, region: regions.own, seen: () => feed.applied, clock }),
      JobAdmission,
    ),
    made(JobStability, ({ writes, jobs, model }) => new JobStability(writes, jobs, model)),
    made(DeregisterJob, deregisterJobOf),
    made(
      EvaluateJob,
      ({ writes, jobs, model, context: { newId } }) => new EvaluateJob({ writer: writes, jobs, read: model, newId }),
    ),
    composed(
      JobSubmission,
      (requests, forwarding, registering, planning) =>
        new JobSubmission({ requests, forwarding, registering, planning }),
      RegisterRequests,
      RegionForwarding,
      RegisterEverywhere,
      PlanJob,
    ),
    composed(
      JobRuns,
      (evaluating, launching, dispatching, scaling) => new JobRuns({ evaluating, launching, dispatching, scaling }),
      EvaluateJob,
      ForceLaunch,
      DispatchJob,
      ScaleJob,
    ),
    made(
      JobVersionWrites,
      ({ model }, reverting, stability, tags) => new JobVersionWrites({ reverting, stability, tags, model }),
      RevertJob,
      JobStability,
      JobVersionTags,
    ),
    made(ForceLaunch, ({ calls, readable, context: { log } }) => new ForceLaunch(log, calls, readable)),
  ],
  exports: [JobList],
})
export class JobsModule {}
