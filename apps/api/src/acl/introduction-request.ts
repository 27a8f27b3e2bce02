import { parseDuration, wire } from '@waybill/model';
import { badRequest } from '../http/api-error.js';
import { readOptionalJsonBody } from '../http/body.js';

/** A request for an introduction token (AU-200). Texts are empty and the TTL is 0 if they are not given. */
export interface IntroductionRequest {
  NodeName: string;
  NodePool: string;
  /** Nanoseconds. */
  TTL: number;
}

/** A duration as a text or in nanoseconds. */
const ttl: wire.Field<number> = {
  read: (json) => {
    if (typeof json === 'number') return Math.trunc(json);
    if (typeof json !== 'string') throw badRequest(`unexpected TTL type: ${goType(json)}`);
    const ns = json === '' ? 0 : parseDuration(json);
    if (ns === undefined) throw badRequest(`time: invalid duration ${JSON.stringify(json)}`);
    return ns;
  },
  fill: (given) => (typeof given === 'number' ? given : 0),
};

/** The name of the type in the texts of the reference. */
function goType(json: unknown): string {
  if (Array.isArray(json)) return '[]interface {}';
  return typeof json === 'boolean' ? 'bool' : 'map[string]interface {}';
}

const INTRODUCTION: wire.Shape<IntroductionRequest> = {
  name: 'ACLCreateClientIntroductionTokenRequest',
  fields: { NodeName: wire.string(), NodePool: wire.string(), TTL: ttl },
};

/** @throws Refusal invalid, DecodeError */
export const readIntroduction = (body: unknown): IntroductionRequest =>
  wire.decodeShape(INTRODUCTION, readOptionalJsonBody(body) ?? {});
