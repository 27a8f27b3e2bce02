import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { EventLog, type ProjectionFeed, ReadModel, TransactionLog, Watches } from '@waybill/projection';
import { NatsRpc } from '@waybill/rpc';
import type { ServiceContext } from '@waybill/service';
import { AllocationsController } from './allocations/allocations.controller.js';
import { StopAllocation } from './allocations/stop-allocation.js';
import { AllocationActionsController } from './client/allocation-actions.controller.js';
import { FilesController } from './client/files.controller.js';
import { LogsController } from './client/logs.controller.js';
import { MachinesController } from './client/machines.controller.js';
import { AgentIdentity } from './cluster/agent-identity.js';
import { ClusterController } from './cluster/cluster.controller.js';
import { EnterpriseController } from './cluster/enterprise.controller.js';
import { DeploymentWritesController } from './deployments/deployment-writes.controller.js';
import { DeploymentsController } from './deployments/deployments.controller.js';
import { DeleteEvaluations } from './evaluations/delete-evaluations.js';
import { EvalTimers } from './evaluations/eval-timers.js';
import { EvaluationsController } from './evaluations/evaluations.controller.js';
import { EventStreamController } from './events/event-stream.controller.js';
import { Subscriptions } from './events/subscriptions.js';
import { HistoryController, HistoryReads } from './history/history.controller.js';
import { ApiErrorFilter } from './http/api-error.filter.js';
import { BlockingQueries } from './http/blocking-query.js';
import { HeldCalls } from './http/held-calls.js';
import { type ReadModelAge, Reads } from './http/reads.js';
import { DeregisterJob } from './jobs/deregister-job.js';
import { EvaluateJob } from './jobs/evaluate-job.js';
import { ForceLaunch } from './jobs/force-launch.js';
import { JobList } from './jobs/job-list.js';
import { JobWritesController } from './jobs/job-writes.controller.js';
import { JobsController } from './jobs/jobs.controller.js';
import { JobStability } from './jobs/job-stability.js';
import { DispatchJob } from './jobs/dispatch-job.js';
import { JobVersionTags } from './jobs/job-version-tags.js';
import { ScaleJob } from './jobs/scale-job.js';
import { PlanJob } from './jobs/plan-job.js';
import { type JobLookup, RegisterJob } from './jobs/register-job.js';
import { RegisterRequests } from './jobs/register-request.js';
import { RevertJob } from './jobs/revert-job.js';
import { NodeList } from './nodes/node-list.js';
import { NodePoolWrites } from './nodes/node-pool-writes.js';
import { NodePoolsController } from './nodes/node-pools.controller.js';
import { NodeWritesController } from './nodes/node-writes.controller.js';
import { NodesController } from './nodes/nodes.controller.js';
import { BrokerInquiry } from './operator/broker-inquiry.js';
import { SchedulerConfigurationController } from './operator/scheduler-configuration.controller.js';
import { SetSchedulerConfiguration } from './operator/set-scheduler-configuration.js';
import { SystemController } from './operator/system.controller.js';
import { Writer } from './writer.js';

/** What the HTTP server is made of, beside the context every service has. */
export interface ApiParts {
  readonly context: ServiceContext;
  readonly model: ReadModel;
  readonly feed: ProjectionFeed;
  readonly events: EventLog;
  readonly subscriptions: Subscriptions;
}

@Module({})
export class ApiModule {
  static of({ context, model, feed, events, subscriptions }: ApiParts): DynamicModule {
    const { clock, newId, log, settings, link } = context;
    const writer = new Writer(log, feed, () => context.tracer);
    const lookup: JobLookup = {
      job: async (namespace, id) => (await model.job(namespace, id)).row,
      schedulerConfiguration: async () => (await model.schedulerConfiguration()).row,
    };
    const readable = (index: number): Promise<unknown> => writer.readable(index);
    const age = (): ReadModelAge => ({ lastContactMs: 0, knownLeader: link.up });
    const reads = new Reads(new BlockingQueries(feed, clock, context.random), age);
    const everyIndex = new Watches(context.timers);
    feed.onAdvance(() => everyIndex.wakeAll());
    const historyReads = new HistoryReads(new BlockingQueries(everyIndex, clock, context.random), age);
    const registerJob = new RegisterJob(log, writer, lookup, readable, clock, newId);
    const calls = new HeldCalls(context.rpc, clock, context.timers);
    const inquiry = new BrokerInquiry(calls);
    const region = settings.WAYBILL_REGION;
    const identity = new AgentIdentity(
      region,
      settings.WAYBILL_HTTP_HOST,
      settings.WAYBILL_HTTP_PORT,
      'waybill',
      newId(),
    );
    return {
      module: ApiModule,
      controllers: [
        AllocationActionsController,
        AllocationsController,
        ClusterController,
        DeploymentWritesController,
        DeploymentsController,
        EnterpriseController,
        EvaluationsController,
        EventStreamController,
        HistoryController,
        JobWritesController,
        JobsController,
        FilesController,
        LogsController,
        MachinesController,
        NodePoolsController,
        NodeWritesController,
        NodesController,
        SchedulerConfigurationController,
        SystemController,
      ],
      providers: [
        { provide: ReadModel, useValue: model },
        { provide: Reads, useValue: reads },
        { provide: HistoryReads, useValue: historyReads },
        { provide: TransactionLog, useValue: new TransactionLog(context.database) },
        { provide: JobList, useValue: new JobList(model, reads) },
        { provide: NodeList, useValue: new NodeList(model, reads) },
        { provide: NodePoolWrites, useValue: new NodePoolWrites(writer, clock) },
        { provide: AgentIdentity, useValue: identity },
        { provide: EventLog, useValue: events },
        { provide: Subscriptions, useValue: subscriptions },
        { provide: NatsRpc, useValue: context.rpc },
        { provide: HeldCalls, useValue: calls },
        { provide: BrokerInquiry, useValue: inquiry },
        {
          provide: StopAllocation,
          useValue: new StopAllocation(writer, async (id) => (await model.allocation(id)).row, clock, newId),
        },
        { provide: RegisterRequests, useValue: new RegisterRequests(region, clock) },
        { provide: Writer, useValue: writer },
        { provide: RegisterJob, useValue: registerJob },
        {
          provide: ScaleJob,
          useValue: new ScaleJob(log, writer, registerJob, model, readable, clock, newId),
        },
        {
          provide: DispatchJob,
          useValue: new DispatchJob(log, writer, registerJob, lookup, readable, clock, newId),
        },
        { provide: JobVersionTags, useValue: new JobVersionTags(writer, region, clock) },
        { provide: PlanJob, useValue: new PlanJob(log, context.rpc, () => feed.applied, clock) },
        { provide: RevertJob, useValue: new RevertJob(log, registerJob, model, readable) },
        { provide: JobStability, useValue: new JobStability(log, writer, model, readable, clock) },
        { provide: DeregisterJob, useValue: new DeregisterJob(log, writer, lookup, readable, clock, newId) },
        { provide: EvaluateJob, useValue: new EvaluateJob(log, writer, model, readable, clock, newId) },
        { provide: EvalTimers, useValue: new EvalTimers(context.metrics, clock) },
        { provide: ForceLaunch, useValue: new ForceLaunch(log, calls, readable) },
        { provide: DeleteEvaluations, useValue: new DeleteEvaluations(model, writer, inquiry, clock) },
        {
          provide: SetSchedulerConfiguration,
          useValue: new SetSchedulerConfiguration(lookup, writer, inquiry, clock),
        },
        { provide: APP_FILTER, useValue: new ApiErrorFilter(context.logger) },
      ],
    };
  }
}
