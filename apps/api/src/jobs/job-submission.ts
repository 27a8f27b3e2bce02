import { checkVolumes } from '../access/volume-rights.js';
import { readJsonBody } from '../http/body.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import type { RegionForwarding } from '../regions/forwarding.transport.js';
import type { RegisterEverywhere } from '../regions/register-everywhere.js';
import type { PlanJob } from './plan-job.js';
import type { RegisterRequests } from './register-request.js';
import { sendWritten } from './write-answer.js';
import { callUserOf } from '../access/call-user.js';

export interface JobSubmissionDeps {
  readonly requests: RegisterRequests;
  readonly forwarding: RegionForwarding;
  readonly registering: RegisterEverywhere;
  readonly planning: PlanJob;
}

/**
 * JobSubmission answers requests with a whole job in the body: it registers or plans the job in the region that the job
 * names.
 */
export class JobSubmission {
  constructor(private readonly deps: JobSubmissionDeps) {}

  async register(request: ApiRequest, reply: ApiReply, pathJobId: string | undefined): Promise<void> {
    const wanted = this.deps.requests.readRegistration(readJsonBody(request.body), request.query, pathJobId);
    request.access.inNamespace(wanted.Job.Namespace);
    checkVolumes(request.access, wanted.Job);
    if (wanted.home !== this.deps.forwarding.own) return this.deps.forwarding.forward(request, reply, wanted.home);
    const answer = await this.deps.registering.register(wanted, Requester.of(request));
    sendWritten(request, reply, answer);
  }

  async plan(request: ApiRequest, reply: ApiReply, id: string): Promise<void> {
    const wanted = this.deps.requests.readPlan(readJsonBody(request.body), request.query, id);
    request.access.inNamespace(wanted.Job.Namespace);
    if (wanted.home !== this.deps.forwarding.own) return this.deps.forwarding.forward(request, reply, wanted.home);
    const answer = await this.deps.planning.plan(wanted, callUserOf(request.access.caller));
    setWriteIndex(reply, answer.Index);
    sendJson(request, reply, answer);
  }
}
