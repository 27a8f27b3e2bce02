import { wire } from '@waybill/model';
import { readOptionalJsonBody } from '../http/body.js';

const RENEWAL: wire.Shape<{ NodeID: string }> = {
  name: 'NodeIdentityRenewRequest',
  fields: { NodeID: wire.string() },
};

/** Returns the node that the body of a renewal names; empty if it names none. @throws Refusal invalid, DecodeError */
export function readRenewal(body: unknown): string {
  return wire.decodeShape(RENEWAL, readOptionalJsonBody(body) ?? {}).NodeID;
}
