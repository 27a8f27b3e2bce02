import type { ReadModel } from '@waybill/projection';
import { checkVolumes } from '../access/volume-rights.js';
import { readJsonBody } from '../http/body.js';
import { namespaceOf } from '../http/query-string.js';
import { type ApiReply, type ApiRequest, sendJson, setWriteIndex } from '../http/reply.js';
import { Requester } from '../http/requester.js';
import { allowedNamespaceOfWrite } from '../http/write-options.js';
import { type JobStability, readStabilityRequest } from './job-stability.js';
import { type JobVersionTags, readTagRequest, tagPathOf } from './job-version-tags.js';
import { readRevertRequest, type RevertJob } from './revert-job.js';
import { QUERY_META, sendWritten } from './write-answer.js';

export interface JobVersionWritesDeps {
  readonly reverting: RevertJob;
  readonly stability: JobStability;
  readonly tags: JobVersionTags;
  readonly model: Pick<ReadModel, 'jobVersions'>;
}

/** JobVersionWrites answers writes to kept versions of a job: reverting to one, marking it as stable, and tags. */
export class JobVersionWrites {
  constructor(private readonly deps: JobVersionWritesDeps) {}

  async revert(request: ApiRequest, reply: ApiReply, id: string): Promise<void> {
    const body = readJsonBody(request.body);
    const wanted = readRevertRequest(body, id);
    const namespace = allowedNamespaceOfWrite(request, body);
    await this.checkReverted(request, namespace, id, wanted.version);
    const answer = await this.deps.reverting.revert(namespace, id, wanted, Requester.of(request));
    sendWritten(request, reply, answer);
  }

  /** Checks the rights for the volumes of a version that is registered again, as at its first registration. */
  private async checkReverted({ access }: ApiRequest, namespace: string, id: string, version: number): Promise<void> {
    if (access.caller.acl.isManagement()) return;
    const { rows } = await this.deps.model.jobVersions(namespace, id);
    const target = rows.find((row) => row.Version === version);
    if (target) checkVolumes(access, target);
  }

  async setStable(request: ApiRequest, reply: ApiReply, id: string): Promise<void> {
    const body = readJsonBody(request.body);
    const wanted = readStabilityRequest(body, id);
    const Index = await this.deps.stability.markVersion(
      allowedNamespaceOfWrite(request, body),
      id,
      wanted,
      Requester.of(request),
    );
    setWriteIndex(reply, Index);
    sendJson(request, reply, { Index });
  }

  async tag(request: ApiRequest, reply: ApiReply, rest: string): Promise<void> {
    const body = readJsonBody(request.body);
    const place = { ...tagPathOf(rest), namespace: allowedNamespaceOfWrite(request, body) };
    const wish = readTagRequest(body);
    const { tag, index } = await this.deps.tags.apply(place, wish, Requester.of(request));
    setWriteIndex(reply, index);
    sendJson(request, reply, { ...tag, Index: index, ...QUERY_META });
  }

  async untag(request: ApiRequest, reply: ApiReply, rest: string): Promise<void> {
    const place = { ...tagPathOf(rest), namespace: namespaceOf(request.query) };
    const index = await this.deps.tags.remove(place, Requester.of(request));
    setWriteIndex(reply, index);
    sendJson(request, reply, { Name: '', Description: '', TaggedTime: 0, Index: index, ...QUERY_META });
  }
}
