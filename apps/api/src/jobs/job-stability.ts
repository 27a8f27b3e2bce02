import { jobSubject, type Log } from '@waybill/journal';
import { nsFromMs, type Clock } from '@waybill/model';
import { draftTxn, type Proposer } from '@waybill/state';
import { badRequest, notFound } from '../http/api-error.js';
import { asObject, boolOf, stringOf, uintOf } from '../http/json-members.js';
import type { Requester } from '../http/requester.js';
import { acceptedOrThrow } from '../writer.js';
import type { JobVersionLookup } from './job-version-lookup.js';

export interface StabilityRequest {
  readonly version: number;
  readonly stable: boolean;
}

/** API-164. @throws Refusal 400, DecodeError */
export function readStabilityRequest(json: unknown, pathJobId: string): StabilityRequest {
  const body = asObject(json, 'JobStabilityRequest');
  const id = stringOf(body, 'JobID');
  if (id === '') throw badRequest('JobID must be specified');
  if (id !== pathJobId) throw badRequest('Job ID does not match');
  return { version: uintOf(body, 'JobVersion'), stable: boolOf(body, 'Stable') };
}

/** Marks one kept version as stable or not; no new version, no evaluation (DP-954, DP-955). */
export class JobStability {
  constructor(
    private readonly log: Log,
    private readonly writer: Proposer,
    private readonly read: JobVersionLookup,
    private readonly readable: (index: number) => Promise<unknown>,
    private readonly clock: Clock,
  ) {}

  /** Resolves with the index. @throws Refusal */
  async run(namespace: string, id: string, wanted: StabilityRequest, requester: Requester): Promise<number> {
    const written = await this.log.lastSequence(jobSubject(namespace, id));
    if (written > 0) await this.readable(written);
    const { rows } = await this.read.jobVersions(namespace, id);
    if (!rows.some((row) => row.Version === wanted.version))
      throw notFound(`job "${id}" in namespace "${namespace}" at version ${wanted.version} not found`);
    const payload = { JobID: id, JobVersion: wanted.version, Stable: wanted.stable };
    const context = { ...requester.draftContext(nsFromMs(this.clock.nowMs())), namespace };
    return acceptedOrThrow(await this.writer.propose(draftTxn('JobStability', payload, context))).index;
  }
}
