import { type AuthMethodConfig, type ClientAssertion, type ClientAssertionKey, wire } from '@waybill/model';
import { readJsonBody } from '../http/body.js';
import { durationField } from './duration-field.js';

/** GivenAssertionKey is the key of a client assertion as a client sends it. */
export type GivenAssertionKey = Omit<ClientAssertionKey, 'SealedPemKey' | 'KeyIDHeader'> & {
  PemKey: string;
  KeyIDHeader: string;
};

export type GivenAssertion = Omit<ClientAssertion, 'KeySource' | 'Audience' | 'PrivateKey'> & {
  KeySource: string;
  Audience: string[] | null;
  PrivateKey: GivenAssertionKey | null;
};

/**
 * GivenMethodConfig is a configuration as a client sends it: with its secrets in clear, or with `redacted` for stored
 * secrets.
 */
export type GivenMethodConfig = Omit<AuthMethodConfig, 'SealedClientSecret' | 'OIDCClientAssertion'> & {
  OIDCClientSecret: string;
  OIDCClientAssertion: GivenAssertion | null;
};

/** GivenAuthMethod is an auth method as a client sends it. Members that the servers determine are ignored. */
export interface GivenAuthMethod {
  Name: string;
  Type: string;
  TokenLocality: string;
  TokenNameFormat: string;
  /** The value is in nanoseconds. */
  MaxTokenTTL: number;
  Default: boolean;
  Config: GivenMethodConfig | null;
}

const texts = wire.list(wire.string());
const textMap = wire.map(wire.string());

const PRIVATE_KEY: wire.Shape<GivenAssertionKey> = {
  name: 'OIDCClientAssertionKey',
  fields: {
    PemKey: wire.string(),
    PemKeyFile: wire.string(),
    PemCert: wire.string(),
    PemCertFile: wire.string(),
    KeyID: wire.string(),
    KeyIDHeader: wire.string(),
  },
};

const ASSERTION: wire.Shape<GivenAssertion> = {
  name: 'OIDCClientAssertion',
  fields: {
    KeySource: wire.string(),
    Audience: texts,
    KeyAlgorithm: wire.string(),
    PrivateKey: wire.object(PRIVATE_KEY),
    ExtraHeaders: textMap,
  },
};

const CONFIG: wire.Shape<GivenMethodConfig> = {
  name: 'ACLAuthMethodConfig',
  fields: {
    JWTValidationPubKeys: texts,
    JWKSURL: wire.string(),
    JWKSCACert: wire.string(),
    OIDCDiscoveryURL: wire.string(),
    DiscoveryCaPem: texts,
    OIDCClientID: wire.string(),
    OIDCClientSecret: wire.string(),
    OIDCClientAssertion: wire.object(ASSERTION),
    OIDCEnablePKCE: wire.boolean(),
    OIDCDisableUserInfo: wire.boolean(),
    OIDCScopes: texts,
    AllowedRedirectURIs: texts,
    BoundAudiences: texts,
    BoundIssuer: texts,
    SigningAlgs: texts,
    ExpirationLeeway: durationField,
    NotBeforeLeeway: durationField,
    ClockSkewLeeway: durationField,
    ClaimMappings: textMap,
    ListClaimMappings: textMap,
    VerboseLogging: wire.boolean(),
  },
};

const AUTH_METHOD: wire.Shape<GivenAuthMethod> = {
  name: 'ACLAuthMethod',
  fields: {
    Name: wire.string(),
    Type: wire.string(),
    TokenLocality: wire.string(),
    TokenNameFormat: wire.string(),
    MaxTokenTTL: durationField,
    Default: wire.boolean(),
    Config: wire.object(CONFIG),
  },
};

/** @throws Refusal invalid, DecodeError */
export const readAuthMethod = (body: unknown): GivenAuthMethod => wire.decodeShape(AUTH_METHOD, readJsonBody(body));
