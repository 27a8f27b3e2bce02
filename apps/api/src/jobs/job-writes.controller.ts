import { Controller, Delete, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { byPart, inBody, inQuery } from '../access/needs.js';
import { formatErrors, formatWarnings } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import { invalidMethod, badRequest } from '../http/api-error.js';
import { readJsonBody, readOptionalJsonBody } from '../http/body.js';
import { boolParam, isGiven, namespaceOf, param } from '../http/query-string.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { allowedNamespaceOfWrite, idempotencyTokenOf } from '../http/write-options.js';
import type { RoutedRequest } from '../http/routed-request.js';
import { DeregisterEverywhere } from '../regions/deregister-everywhere.js';
import { RegionForwarding } from '../regions/forwarding.transport.js';
import { RegisterEverywhere } from '../regions/register-everywhere.js';
import { DispatchJob, readDispatchRequest } from './dispatch-job.js';
import { EvaluateJob, readEvaluateRequest } from './evaluate-job.js';
import { ForceLaunch } from './force-launch.js';
import { JobAdmission } from './job-admission.js';
import { jobPathOf, jobSubRoute } from './job-path.js';
import { JobStability, readStabilityRequest } from './job-stability.js';
import { JobVersionTags, readTagRequest, tagPathOf } from './job-version-tags.js';
import { PlanJob } from './plan-job.js';
import { checkedEvalPriority, RegisterRequests } from './register-request.js';
import { readRevertRequest, RevertJob } from './revert-job.js';
import { ScaleJob } from './scale-job.js';
import { checkVolumes } from '../access/volume-rights.js';

/** What each part of a job needs of those who write it. */
const JOB_WRITES = byPart(
  ({ url }) => jobSubRoute(url),
  {
    '': inBody('submit-job', 'register-job'),
    evaluate: inBody('submit-job', 'evaluate-job'),
    plan: inBody('submit-job', 'plan-job'),
    'periodic/force': inQuery('dispatch-job', 'submit-job', 'force-periodic-job'),
    revert: inBody('submit-job', 'revert-job'),
    stable: inBody('submit-job', 'stable-job'),
    scale: inBody('scale-job', 'submit-job'),
    dispatch: inBody('dispatch-job'),
    'dispatch/payload': inBody('dispatch-job'),
    tag: inBody('submit-job', 'tag-job-version'),
  },
  inQuery('submit-job'),
);
const JOB_DELETES = byPart(deletedPart, {
  '': inQuery('submit-job', 'deregister-job', 'purge-job'),
  purge: inQuery('submit-job', 'purge-job'),
  tag: inQuery('submit-job', 'tag-job-version'),
});

/** `purge` when the job is not only to be stopped; a value that is no boolean is refused by the handler. */
function deletedPart({ url, query }: RoutedRequest): string {
  return jobSubRoute(url) ?? (isGiven(query, 'purge') ? 'purge' : '');
}

/** What is asked of `/v1/jobs`, `/v1/job/…` and `/v1/validate/job` by PUT, POST and DELETE. */
@Controller('v1')
export class JobWritesController {
  constructor(
    private readonly requests: RegisterRequests,
    private readonly admission: JobAdmission,
    private readonly forwarding: RegionForwarding,
    private readonly registerJob: RegisterEverywhere,
    private readonly planJob: PlanJob,
    private readonly deregisterJob: DeregisterEverywhere,
    private readonly evaluateJob: EvaluateJob,
    private readonly forceLaunch: ForceLaunch,
    private readonly revertJob: RevertJob,
    private readonly jobStability: JobStability,
    private readonly scaleJob: ScaleJob,
    private readonly dispatchJob: DispatchJob,
    private readonly tags: JobVersionTags,
    private readonly model: ReadModel,
  ) {}

  @Put('jobs')
  @Needs(inBody('submit-job', 'register-job'))
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.register(request, reply, undefined);
  }

  @Post('jobs')
  @Needs(inBody('submit-job', 'register-job'))
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.register(request, reply, undefined);
  }

  @Put('validate/job')
  @Needs(inBody('read-job'))
  validatePut(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.validate(request, reply);
  }

  @Post('validate/job')
  @Needs(inBody('read-job'))
  validatePost(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.validate(request, reply);
  }

  @Put('job/*')
  @Needs(JOB_WRITES)
  writePut(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.write(request, reply);
  }

  @Post('job/*')
  @Needs(JOB_WRITES)
  writePost(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.write(request, reply);
  }

  @Delete('job/*')
  @Needs(JOB_DELETES)
  async deregister(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    const { id, sub } = jobPathOf(request.url);
    if (sub === 'tag') return this.untag(request, reply, id);
    if (sub !== undefined) throw invalidMethod();
    const { query } = request;
    const answer = await this.deregisterJob.deregister(
      {
        namespace: namespaceOf(query),
        id,
        purge: boolParam(query, 'purge') ?? false,
        global: boolParam(query, 'global') ?? false,
        noShutdownDelay: boolParam(query, 'no_shutdown_delay') ?? false,
        evalPriority: evalPriorityOf(param(query, 'eval_priority')),
      },
      Requester.of(request),
    );
    setWriteIndex(reply, answer.Index);
    sendJson(request, reply, { ...answer, ...QUERY_META });
  }

  private async write(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { id, sub } = jobPathOf(request.url);
    switch (sub) {
      case undefined:
        return this.register(request, reply, id);
      case 'evaluate':
        return this.evaluate(request, reply, id);
      case 'plan':
        return this.plan(request, reply, id);
      case 'periodic/force':
        return this.force(request, reply, id);
      case 'revert':
        return this.revert(request, reply, id);
      case 'stable':
        return this.setStable(request, reply, id);
      case 'scale':
        return this.scale(request, reply, id);
      case 'dispatch':
        return this.dispatch(request, reply, id, readJsonBody(request.body));
      case 'dispatch/payload':
        return this.dispatch(request, reply, id, undefined);
      case 'tag':
        return this.tag(request, reply, id);
      default:
        throw invalidMethod();
    }
  }

  private async evaluate(request: ApiRequest, reply: ApiReply, id: string): Promise<void> {
    const body = readOptionalJsonBody(request.body);
    const { forceReschedule } = readEvaluateRequest(body, id);
    const namespace = allowedNamespaceOfWrite(request, body);
    const answer = await this.evaluateJob.evaluate({ namespace, id, forceReschedule }, Requester.of(request));
    setWriteIndex(reply, answer.Index);
    sendJson(request, reply, { ...answer, ...QUERY_META });
  }

  private async plan(request: ApiRequest, reply: ApiReply, id: string): Promise<void> {
    const wanted = this.requests.readPlan(readJsonBody(request.body), request.query, id);
    request.access.inNamespace(wanted.Job.Namespace);
    if (wanted.home !== this.forwarding.own) return this.forwarding.pass(request, reply, wanted.home);
    const answer = await this.planJob.plan(wanted);
    setWriteIndex(reply, answer.Index);
    sendJson(request, reply, answer);
  }

  private async force(request: ApiRequest, reply: ApiReply, id: string): Promise<void> {
    const answer = await this.forceLaunch.launch(namespaceOf(request.query), id);
    setWriteIndex(reply, answer.Index);
    sendJson(request, reply, { ...answer, ...QUERY_META });
  }

  private async revert(request: ApiRequest, reply: ApiReply, id: string): Promise<void> {
    const body = readJsonBody(request.body);
    const wanted = readRevertRequest(body, id);
    const namespace = allowedNamespaceOfWrite(request, body);
    await this.checkReverted(request, namespace, id, wanted.version);
    const answer = await this.revertJob.revert(namespace, id, wanted, Requester.of(request));
    setWriteIndex(reply, answer.Index);
    sendJson(request, reply, { ...answer, ...QUERY_META });
  }

  /** A version that is registered again needs what its volumes need, as when it was registered first. */
  private async checkReverted({ access }: ApiRequest, namespace: string, id: string, version: number): Promise<void> {
    if (access.caller.acl.isManagement()) return;
    const { rows } = await this.model.jobVersions(namespace, id);
    const target = rows.find((row) => row.Version === version);
    if (target) checkVolumes(access, target);
  }

  private async setStable(request: ApiRequest, reply: ApiReply, id: string): Promise<void> {
    const body = readJsonBody(request.body);
    const wanted = readStabilityRequest(body, id);
    const Index = await this.jobStability.markVersion(
      allowedNamespaceOfWrite(request, body),
      id,
      wanted,
      Requester.of(request),
    );
    setWriteIndex(reply, Index);
    sendJson(request, reply, { Index });
  }

  private async scale(request: ApiRequest, reply: ApiReply, id: string): Promise<void> {
    const body = readJsonBody(request.body);
    const answer = await this.scaleJob.scale(allowedNamespaceOfWrite(request, body), id, body, Requester.of(request));
    setWriteIndex(reply, answer.Index);
    sendJson(request, reply, { ...answer, ...QUERY_META });
  }

  /** @param body undefined: the request's bytes are the payload */
  private async dispatch(request: ApiRequest, reply: ApiReply, id: string, body: unknown): Promise<void> {
    const { query } = request;
    const wanted =
      body === undefined ? { ...NO_DISPATCH, payload: bytesOf(request.body) } : readDispatchRequest(body, id);
    const wish = { ...wanted, idempotencyToken: idempotencyTokenOf(query, body) };
    const answer = await this.dispatchJob.dispatch(
      allowedNamespaceOfWrite(request, body),
      id,
      wish,
      Requester.of(request),
    );
    setWriteIndex(reply, answer.Index);
    sendJson(request, reply, answer);
  }

  private async tag(request: ApiRequest, reply: ApiReply, rest: string): Promise<void> {
    const body = readJsonBody(request.body);
    const place = { ...tagPathOf(rest), namespace: allowedNamespaceOfWrite(request, body) };
    const wish = readTagRequest(body);
    const { tag, index } = await this.tags.apply(place, wish, Requester.of(request));
    setWriteIndex(reply, index);
    sendJson(request, reply, { ...tag, Index: index, ...QUERY_META });
  }

  private async untag(request: ApiRequest, reply: ApiReply, rest: string): Promise<void> {
    const place = { ...tagPathOf(rest), namespace: namespaceOf(request.query) };
    const index = await this.tags.remove(place, Requester.of(request));
    setWriteIndex(reply, index);
    sendJson(request, reply, { Name: '', Description: '', TaggedTime: 0, Index: index, ...QUERY_META });
  }

  private async register(request: ApiRequest, reply: ApiReply, pathJobId: string | undefined): Promise<void> {
    const wanted = this.requests.readRegistration(readJsonBody(request.body), request.query, pathJobId);
    request.access.inNamespace(wanted.Job.Namespace);
    checkVolumes(request.access, wanted.Job);
    if (wanted.home !== this.forwarding.own) return this.forwarding.pass(request, reply, wanted.home);
    const answer = await this.registerJob.register(wanted, Requester.of(request));
    setWriteIndex(reply, answer.Index);
    sendJson(request, reply, { ...answer, ...QUERY_META });
  }

  /** API-181: an invalid job is an answer, not an error. */
  private async validate(request: ApiRequest, reply: ApiReply): Promise<void> {
    const wanted = this.requests.readValidation(readJsonBody(request.body));
    request.access.inNamespace(wanted.Job.Namespace);
    const { errors, warnings } = await this.admission.validate(wanted.Job);
    sendJson(request, reply, {
      DriverConfigValidated: true,
      ValidationErrors: errors.length > 0 ? errors : null,
      Error: formatErrors(errors),
      Warnings: formatWarnings([...wanted.warnings, ...warnings]),
      Index: 0, // nothing was written
    });
  }
}

/** Query meta inside write answers; clients read none of it. */
const QUERY_META = { LastContact: 0, KnownLeader: true, NextToken: '' } as const;

/** What raw bytes say beside the payload: nothing. */
const NO_DISPATCH = { meta: {}, idPrefix: '', priority: 0 } as const;

const bytesOf = (body: unknown): Buffer => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));

/** API-121: not a number is 500, above 100 is 400, 0 or negative counts as not given. */
function evalPriorityOf(text: string | undefined): number {
  if (text === undefined || text === '') return 0;
  if (!/^-?\d{1,9}$/.test(text)) throw badRequest(`Failed to parse value of "eval_priority" (${text}) as an int`);
  return checkedEvalPriority(Math.max(0, Number(text)));
}
