import { readJsonBody, readOptionalJsonBody } from '../http/body.js';
import { namespaceOf } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { allowedNamespaceOfWrite, idempotencyTokenOf } from '../http/write-options.js';
import { type DispatchJob, readDispatchRequest } from './dispatch-job.js';
import { type EvaluateJob, readEvaluateRequest } from './evaluate-job.js';
import type { ForceLaunch } from './force-launch.js';
import type { ScaleJob } from './scale-job.js';
import { sendWritten } from './write-answer.js';
import { callUserOf } from '../access/call-user.js';

export interface JobRunsDeps {
  readonly evaluating: EvaluateJob;
  readonly launching: ForceLaunch;
  readonly dispatching: DispatchJob;
  readonly scaling: ScaleJob;
}

/** JobRuns answers requests that make a stored job run: again, now, with a payload, or with another count. */
export class JobRuns {
  constructor(private readonly deps: JobRunsDeps) {}

  async evaluate(request: ApiRequest, reply: ApiReply, id: string): Promise<void> {
    const body = readOptionalJsonBody(request.body);
    const { forceReschedule } = readEvaluateRequest(body, id);
    const namespace = allowedNamespaceOfWrite(request, body);
    const answer = await this.deps.evaluating.evaluate({ namespace, id, forceReschedule }, Requester.of(request));
    sendWritten(request, reply, answer);
  }

  async force(request: ApiRequest, reply: ApiReply, id: string): Promise<void> {
    const answer = await this.deps.launching.launch(namespaceOf(request.query), id, callUserOf(request.access.caller));
    sendWritten(request, reply, answer);
  }

  /** @param body undefined if the bytes of the request are the payload */
  async dispatch(request: ApiRequest, reply: ApiReply, id: string, body: unknown): Promise<void> {
    const { query } = request;
    const wanted =
      body === undefined ? { ...NO_DISPATCH, payload: bytesOf(request.body) } : readDispatchRequest(body, id);
    const wish = { ...wanted, idempotencyToken: idempotencyTokenOf(query, body) };
    const answer = await this.deps.dispatching.dispatch(
      allowedNamespaceOfWrite(request, body),
      id,
      wish,
      Requester.of(request),
    );
    setWriteIndex(reply, answer.Index);
    sendJson(request, reply, answer);
  }

  async scale(request: ApiRequest, reply: ApiReply, id: string): Promise<void> {
    const body = readJsonBody(request.body);
    const answer = await this.deps.scaling.scale(
      allowedNamespaceOfWrite(request, body),
      id,
      body,
      Requester.of(request),
    );
    sendWritten(request, reply, answer);
  }
}

/** The other members of a dispatch whose body is only the payload. */
const NO_DISPATCH = { meta: {}, idPrefix: '', priority: 0 } as const;

const bytesOf = (body: unknown): Buffer => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));
