import { jobSubject, type Log } from '@waybill/journal';
import {
  type Clock,
  DecodeError,
  isParameterized,
  isPeriodic,
  type Job,
  jobIdErrors,
  metaErrors,
  MAX_DISPATCH_PREFIX_BYTES,
  MAX_IDEMPOTENCY_TOKEN_BYTES,
  msFromNs,
  nameLengthErrors,
  newEvaluation,
  nsFromMs,
  type ParameterizedJobConfig,
} from '@waybill/model';
import { draftTxn, type Proposer } from '@waybill/state';
import { badRequest, notFound, conflict } from '../http/api-error.js';
import { asObject, intOf, objectOf, stringOf } from '../http/json-members.js';
import type { Requester } from '../http/requester.js';
import { acceptedOrThrow } from '../writer.js';
import { type JobLookup, JOB_TRACKED_VERSIONS, type RegisterJob } from './register-job.js';

/** Bytes (API-176). */
export const MAX_PAYLOAD_BYTES = 16_384;

export interface DispatchWish {
  readonly payload: Buffer;
  readonly meta: Readonly<Record<string, string>>;
  readonly idPrefix: string;
  /** 0: the parent's. */
  readonly priority: number;
  /** "": every dispatch is another one. */
  readonly idempotencyToken: string;
}

export interface Dispatched {
  readonly DispatchedJobID: string;
  readonly EvalID: string;
  readonly EvalCreateIndex: number;
  readonly JobCreateIndex: number;
  readonly Index: number;
}

/** API-175, API-176. @throws Refusal 400, DecodeError */
export function readDispatchRequest(json: unknown, pathJobId: string): Omit<DispatchWish, 'idempotencyToken'> {
  const body = asObject(json, 'JobDispatchRequest');
  const id = stringOf(body, 'JobID');
  if (id !== '' && id !== pathJobId) throw badRequest('Job ID does not match');
  const meta = objectOf(body, 'Meta') ?? {};
  return {
    payload: base64Of(stringOf(body, 'Payload')),
    meta: Object.fromEntries(Object.keys(meta).map((key) => [key, stringOf(meta, key)])),
    idPrefix: stringOf(body, 'IdPrefixTemplate'),
    priority: intOf(body, 'Priority'),
  };
}

function base64Of(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) throw new DecodeError('illegal base64 data in Payload');
  return bytes;
}

/**
 * Makes one job of a parameterized one: a child with its own meta and payload, registered with its evaluation in one
 * transaction (API-175 to API-178). Whether the token has been used is decided when the transaction is applied (ST-51),
 * so that of two at once one makes the child and both name it.
 */
export class DispatchJob {
  constructor(
    private readonly log: Log,
    private readonly writer: Proposer,
    private readonly register: Pick<RegisterJob, 'refuseWhenDisabled'>,
    private readonly read: Pick<JobLookup, 'job'>,
    private readonly readable: (index: number) => Promise<unknown>,
    private readonly clock: Clock,
    private readonly newId: () => string,
  ) {}

  /** @throws Refusal */
  async run(namespace: string, id: string, wish: DispatchWish, requester: Requester): Promise<Dispatched> {
    await this.register.refuseWhenDisabled();
    const written = await this.log.lastSequence(jobSubject(namespace, id));
    if (written > 0) await this.readable(written);
    const parent = await this.read.job(namespace, id);
    if (!parent) throw notFound('parameterized job not found');
    refuseDispatch(parent, wish);
    const nowNs = nsFromMs(this.clock.nowMs());
    const child = childOf(parent, wish, nowNs, this.newId().slice(0, 8));
    const [wrong] = [...jobIdErrors(child.ID), ...metaErrors(wish.meta)];
    if (wrong !== undefined) throw badRequest(wrong);
    const Eval = isPeriodic(child)
      ? null
      : newEvaluation({
          ID: this.newId(),
          Namespace: namespace,
          Priority: child.Priority,
          Type: child.Type,
          TriggeredBy: 'job-register',
          JobID: child.ID,
          CreateTime: nowNs,
        });
    const draft = draftTxn(
      'JobRegister',
      {
        Job: child,
        Submission: null,
        EnforceIndex: true,
        JobModifyIndex: 0,
        PreserveCounts: false,
        PreserveResources: false,
        Eval,
        SubmissionFrom: null,
        TrackedVersions: JOB_TRACKED_VERSIONS,
      },
      { ...requester.draftContext(nowNs), namespace, region: parent.Region },
    );
    const { index, verdict } = acceptedOrThrow(await this.writer.propose(draft));
    if (verdict.kind === 'noop') return this.earlier(namespace, verdict.result);
    return {
      DispatchedJobID: child.ID,
      EvalID: Eval?.ID ?? '',
      EvalCreateIndex: Eval ? index : 0,
      JobCreateIndex: index,
      Index: index,
    };
  }

  /** API-177: the child that has this token. */
  private async earlier(namespace: string, result: unknown): Promise<Dispatched> {
    const DispatchedJobID = stringOf(asObject(result ?? {}, 'verdict'), 'JobID');
    const child = await this.read.job(namespace, DispatchedJobID);
    return {
      DispatchedJobID,
      EvalID: '',
      EvalCreateIndex: 0,
      JobCreateIndex: child?.CreateIndex ?? 0,
      Index: child?.ModifyIndex ?? 0,
    };
  }
}

/** API-176. @throws Refusal 500 */
function refuseDispatch(parent: Job, { payload, meta, priority, idPrefix, idempotencyToken }: DispatchWish): void {
  const { ParameterizedJob: config } = parent;
  if (config === null || !isParameterized(parent))
    throw badRequest(`Specified job "${parent.ID}" is not a parameterized job`);
  if (parent.Stop) throw conflict(`Specified job "${parent.ID}" is stopped`);
  refusePayload(config, payload);
  refuseMeta(config, meta);
  const [tooLong] = [
    ...nameLengthErrors('dispatch ID prefix', idPrefix, MAX_DISPATCH_PREFIX_BYTES),
    ...nameLengthErrors('idempotency token', idempotencyToken, MAX_IDEMPOTENCY_TOKEN_BYTES),
  ];
  if (tooLong !== undefined) throw badRequest(tooLong);
  if (priority !== 0 && (priority < 1 || priority > 100))
    throw badRequest('dispatch job priority must be between [1, 100]');
}

function refusePayload({ Payload }: ParameterizedJobConfig, payload: Buffer): void {
  if (Payload === 'required' && payload.length === 0)
    throw badRequest('Payload is not provided but required by parameterized job');
  if (Payload === 'forbidden' && payload.length > 0)
    throw badRequest('Payload provided but forbidden by parameterized job');
  if (payload.length > MAX_PAYLOAD_BYTES)
    throw badRequest(`Payload exceeds maximum size; ${payload.length} > ${MAX_PAYLOAD_BYTES}`);
}

function refuseMeta(config: ParameterizedJobConfig, meta: Readonly<Record<string, string>>): void {
  const required = config.MetaRequired ?? [];
  const permitted = new Set([...required, ...(config.MetaOptional ?? [])]);
  const unpermitted = Object.keys(meta).filter((key) => !permitted.has(key));
  if (unpermitted.length > 0)
    throw badRequest(`Dispatch request included unpermitted metadata keys: ${listed(unpermitted)}`);
  const missing = required.filter((key) => !Object.hasOwn(meta, key));
  if (missing.length > 0) throw badRequest(`Dispatch did not provide required meta keys: ${listed(missing)}`);
}

const listed = (keys: readonly string[]): string => `[${keys.toSorted().join(' ')}]`;

/** API-175, API-178. */
function childOf(parent: Job, wish: DispatchWish, nowNs: number, hex: string): Job {
  const prefix = wish.idPrefix === '' ? '' : `${wish.idPrefix}-`;
  const ID = `${parent.ID}/dispatch-${prefix}${Math.floor(msFromNs(nowNs) / 1000)}-${hex}`;
  const Meta = { ...parent.Meta, ...wish.meta };
  return {
    ...parent,
    ID,
    Name: ID,
    ParentID: parent.ID,
    Dispatched: true,
    DispatchIdempotencyToken: wish.idempotencyToken,
    Payload: wish.payload.length === 0 ? null : wish.payload.toString('base64'),
    Meta: Object.keys(Meta).length === 0 ? null : Meta,
    Priority: wish.priority || parent.Priority,
    Status: 'pending',
    StatusDescription: '',
    Stable: false,
    Version: 0,
    VersionTag: null,
    SubmitTime: nowNs,
    CreateIndex: 0,
    ModifyIndex: 0,
    JobModifyIndex: 0,
  };
}
