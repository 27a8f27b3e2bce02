import { DecodeError, rfc3339FromMs, wire } from '@waybill/model';
import { badRequest } from '../http/api-error.js';
import { readJsonBody, readOptionalJsonBody } from '../http/body.js';
import { durationField } from './duration-field.js';

/** GivenToken is a token as a client sends it. Members that the servers determine are ignored. */
export interface GivenToken {
  AccessorID: string;
  SecretID: string;
  Name: string;
  Type: string;
  Policies: string[] | null;
  Roles: GivenRoleLink[] | null;
  Global: boolean;
  /** The time in RFC 3339. */
  ExpirationTime: string | null;
  /** The value is in nanoseconds. */
  ExpirationTTL: number;
}

/** A GivenRoleLink names a role. Either member is enough (OP 7.1). */
export interface GivenRoleLink {
  ID: string;
  Name: string;
}

/** The time that clients send if they mean none. */
const ZERO_TIME = '0001-01-01T00:00:00Z';
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

const time: wire.Field<string | null> = {
  read: (json, place) => {
    if (typeof json !== 'string') throw DecodeError.wrongType(json, place, 'time.Time');
    if (json === '' || json === ZERO_TIME) return undefined;
    const ms = RFC_3339.test(json) ? Date.parse(json) : Number.NaN;
    if (Number.isNaN(ms)) throw badRequest(`${place}: ${JSON.stringify(json)} is no time such as 2026-01-02T03:04:05Z`);
    return rfc3339FromMs(ms);
  },
  fill: (given) => (typeof given === 'string' ? given : null),
};

const ROLE_LINK: wire.Shape<GivenRoleLink> = {
  name: 'ACLTokenRoleLink',
  fields: { ID: wire.string(), Name: wire.string() },
};

const TOKEN: wire.Shape<GivenToken> = {
  name: 'ACLToken',
  fields: {
    AccessorID: wire.string(),
    SecretID: wire.string(),
    Name: wire.string(),
    Type: wire.string(),
    Policies: wire.list(wire.string()),
    Roles: wire.list(wire.present(ROLE_LINK)),
    Global: wire.boolean(),
    ExpirationTime: time,
    ExpirationTTL: durationField,
  },
};

/** @throws Refusal invalid, DecodeError */
export const readToken = (body: unknown): GivenToken => wire.decodeShape(TOKEN, readJsonBody(body));

const BOOTSTRAP: wire.Shape<{ BootstrapSecret: string }> = {
  name: 'ACLTokenBootstrapRequest',
  fields: { BootstrapSecret: wire.string() },
};

/** Returns the secret that a bootstrap requests; empty for any (OP-143). @throws Refusal invalid, DecodeError */
export function readBootstrapSecret(body: unknown): string {
  const json = readOptionalJsonBody(body);
  return json === undefined || json === null ? '' : wire.decodeShape(BOOTSTRAP, json).BootstrapSecret;
}

const EXCHANGE: wire.Shape<{ OneTimeSecretID: string }> = {
  name: 'OneTimeTokenExchangeRequest',
  fields: { OneTimeSecretID: wire.string() },
};

/** @throws Refusal invalid, DecodeError */
export const readOneTimeSecret = (body: unknown): string =>
  wire.decodeShape(EXCHANGE, readJsonBody(body)).OneTimeSecretID;
