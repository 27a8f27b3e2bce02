import {
  isParameterized,
  isPeriodic,
  type Job,
  jobIdErrors,
  MAX_DISPATCH_PREFIX_BYTES,
  MAX_IDEMPOTENCY_TOKEN_BYTES,
  metaErrors,
  msFromNs,
  nameLengthErrors,
  newEvaluation,
  type ParameterizedJobConfig,
} from '@waybill/model';
import { childRegistration } from '@waybill/state';
import type { Decision } from '@waybill/writing';
import { badRequest, conflict, notFound } from '../../http/api-error.js';

/** The largest size of a payload in bytes (API-176). */
export const MAX_PAYLOAD_BYTES = 16_384;

export interface DispatchWish {
  readonly payload: Buffer;
  readonly meta: Readonly<Record<string, string>>;
  readonly idPrefix: string;
  /** The priority; 0 stands for the parent's. */
  readonly priority: number;
  /** The token. If it is "", every dispatch is a new one. */
  readonly idempotencyToken: string;
}

/**
 * Makes a job from a parameterized one: a child with its own meta and payload, registered with its evaluation in one
 * transaction (API-175 to API-178). The application of the transaction decides whether the token was used (ST-51), so
 * that of two concurrent dispatches one makes the child and both name it.
 * @throws Refusal
 */
export function dispatchOf(
  parent: Job | undefined,
  wish: DispatchWish,
  { newId, nowNs }: { readonly newId: () => string; readonly nowNs: number },
): Decision<'JobRegister'> {
  if (!parent) throw notFound('parameterized job not found');
  refuseDispatch(parent, wish);
  const child = childOf(parent, wish, nowNs, newId().slice(0, 8));
  const [wrong] = [...jobIdErrors(child.ID), ...metaErrors(wish.meta)];
  if (wrong !== undefined) throw badRequest(wrong);
  const { Namespace, Priority, Type, ID: JobID } = child;
  const evaluation = { Namespace, Priority, Type, TriggeredBy: 'job-register', JobID, CreateTime: nowNs } as const;
  const payload = childRegistration(child, isPeriodic(child) ? null : newEvaluation({ ID: newId(), ...evaluation }));
  return { type: 'JobRegister', payload, namespace: Namespace, region: parent.Region };
}

/** Checks a request against its parent (API-176). @throws Refusal conflict if the parent is stopped; invalid */
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

/**
 * Returns the child: the parent with an ID, meta and payload of its own, in the form of a job that was never stored
 * (API-175, API-178).
 */
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
