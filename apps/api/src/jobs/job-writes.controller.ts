import { Controller, Delete, Post, Put, Req, Res } from '@nestjs/common';
import { Needs } from '../access/needs.decorator.js';
import { byPart, inBody, inQuery } from '../access/needs.js';
import { invalidMethod, badRequest } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';
import { boolParam, isGiven, namespaceOf, param } from '../http/query-string.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import type { RoutedRequest } from '../http/routed-request.js';
import { DeregisterEverywhere } from '../regions/deregister-everywhere.js';
import { jobPathOf, jobSubRoute } from './job-path.js';
import { checkedEvalPriority } from './register-request.js';
import { JobRuns } from './job-runs.js';
import { JobSubmission } from './job-submission.js';
import { JobVersionWrites } from './job-version-writes.js';
import { sendWritten } from './write-answer.js';

/** The rights that each part of a job requires for a write. */
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

/**
 * Returns `purge` if the job is to be removed and not only stopped. The handler refuses a value that is not a boolean.
 */
function deletedPart({ url, query }: RoutedRequest): string {
  return jobSubRoute(url) ?? (isGiven(query, 'purge') ? 'purge' : '');
}

/** The controller of PUT, POST and DELETE of `/v1/jobs` and `/v1/job/…`, whose last part selects the action. */
@Controller('v1')
export class JobWritesController {
  constructor(
    private readonly submission: JobSubmission,
    private readonly runs: JobRuns,
    private readonly versions: JobVersionWrites,
    private readonly deregistration: DeregisterEverywhere,
  ) {}

  @Put('jobs')
  @Needs(inBody('submit-job', 'register-job'))
  put(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.submission.register(request, reply, undefined);
  }

  @Post('jobs')
  @Needs(inBody('submit-job', 'register-job'))
  post(@Req() request: ApiRequest, @Res() reply: ApiReply): Promise<void> {
    return this.submission.register(request, reply, undefined);
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
    if (sub === 'tag') return this.versions.untag(request, reply, id);
    if (sub !== undefined) throw invalidMethod();
    const { query } = request;
    const answer = await this.deregistration.deregister(
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
    sendWritten(request, reply, answer);
  }

  private async write(request: ApiRequest, reply: ApiReply): Promise<void> {
    const { id, sub } = jobPathOf(request.url);
    switch (sub) {
      case undefined:
        return this.submission.register(request, reply, id);
      case 'evaluate':
        return this.runs.evaluate(request, reply, id);
      case 'plan':
        return this.submission.plan(request, reply, id);
      case 'periodic/force':
        return this.runs.force(request, reply, id);
      case 'revert':
        return this.versions.revert(request, reply, id);
      case 'stable':
        return this.versions.setStable(request, reply, id);
      case 'scale':
        return this.runs.scale(request, reply, id);
      case 'dispatch':
        return this.runs.dispatch(request, reply, id, readJsonBody(request.body));
      case 'dispatch/payload':
        return this.runs.dispatch(request, reply, id, undefined);
      case 'tag':
        return this.versions.tag(request, reply, id);
      default:
        throw invalidMethod();
    }
  }
}

/**
 * Returns the priority of the evaluation. A value above 100 is refused; 0 or a negative number counts as not given
 * (API-121).
 */
function evalPriorityOf(text: string | undefined): number {
  if (text === undefined || text === '') return 0;
  if (!/^-?\d{1,9}$/.test(text)) throw badRequest(`Failed to parse value of "eval_priority" (${text}) as an int`);
  return checkedEvalPriority(Math.max(0, Number(text)));
}
