import { rfc3339FromMs } from '@waybill/model';
import type { Decision } from '@waybill/writing';
import { badRequest } from '../../http/api-error.js';
import type { SecretForms } from './token.js';
import { isUuid } from './uuid.js';

export interface BootstrapContext {
  /** The index of the last bootstrap; 0 if there was none. */
  readonly doneIndex: number;
  /** The number in the reset file; 0 if there is none. */
  readonly resetIndex: number;
  readonly secrets: SecretForms;
  readonly nowMs: number;
  readonly newUuid: () => string;
}

export type BootstrapDecision = Decision<'ACLTokenBootstrap'> & { readonly accessorId: string };

/**
 * Decides about the first management token (OP-143), or a further one by a reset (OP-145). It refuses here what is
 * certain to be refused, so that a caller without a token cannot fill the log. If there are several requests at once,
 * the application of the transactions decides which one counts (OP-144).
 * @param given the requested secret; empty for any
 * @throws Refusal invalid
 */
export function bootstrapOf(given: string, context: BootstrapContext): BootstrapDecision {
  const { doneIndex, resetIndex, secrets, nowMs, newUuid } = context;
  const secret = given === '' ? newUuid() : given.toLowerCase();
  if (!isUuid(secret)) throw badRequest('invalid acl token');
  if (doneIndex !== 0 && resetIndex === 0) throw badRequest(`ACL bootstrap already done (reset index: ${doneIndex})`);
  if (doneIndex !== 0 && resetIndex !== doneIndex)
    throw badRequest(`Invalid bootstrap reset index (specified ${resetIndex}, reset index: ${doneIndex})`);
  const AccessorID = newUuid();
  const Token = {
    AccessorID,
    SecretHash: secrets.hash(secret),
    SealedSecret: secrets.seal(AccessorID, secret),
    Name: 'Bootstrap Token',
    Type: 'management' as const,
    Policies: null,
    Roles: null,
    Global: true,
    CreateTime: rfc3339FromMs(nowMs),
    ExpirationTime: null,
    ExpirationTTL: 0,
  };
  return { type: 'ACLTokenBootstrap', payload: { Token, ResetIndex: doneIndex && resetIndex }, accessorId: AccessorID };
}
