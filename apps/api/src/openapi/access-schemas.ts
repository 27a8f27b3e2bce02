import * as t from './schema.js';

const INDEXES = { CreateIndex: t.uint, ModifyIndex: t.uint };
const roleLinks = t.maybeListOf(t.plain({ ID: t.text, Name: t.text }));

const TOKEN = {
  AccessorID: t.text,
  Name: t.text,
  Type: t.oneOf('client', 'management'),
  Policies: t.maybeListOf(t.text),
  Roles: roleLinks,
  Global: t.flag,
  Hash: t.text,
  CreateTime: t.nullable(t.text),
  ExpirationTime: t.nullable(t.text),
  ...INDEXES,
};

const POLICY = {
  Name: t.text,
  Description: t.text,
  JobACL: t.nullable(t.plain({ Namespace: t.text, JobID: t.text, Group: t.text, Task: t.text })),
  Hash: t.text,
  ...INDEXES,
};

const AUTH_METHOD = {
  Name: t.text,
  Type: t.oneOf('OIDC', 'JWT'),
  Default: t.flag,
  Hash: t.text,
  ...INDEXES,
};

const CLIENT_ASSERTION = t.plain({
  KeySource: t.oneOf('nomad', 'private_key', 'client_secret'),
  Audience: t.listOf(t.text),
  KeyAlgorithm: t.text,
  PrivateKey: t.nullable(
    t.plain({
      PemKey: t.text,
      PemKeyFile: t.text,
      PemCert: t.text,
      PemCertFile: t.text,
      KeyID: t.text,
      KeyIDHeader: t.text,
    }),
  ),
  ExtraHeaders: t.maybeMapOf(t.text),
});

const METHOD_CONFIG = t.plain({
  JWTValidationPubKeys: t.maybeListOf(t.text),
  JWKSURL: t.text,
  JWKSCACert: t.text,
  OIDCDiscoveryURL: t.text,
  DiscoveryCaPem: t.maybeListOf(t.text),
  OIDCClientID: t.text,
  OIDCClientSecret: t.text,
  OIDCClientAssertion: t.nullable(CLIENT_ASSERTION),
  OIDCEnablePKCE: t.flag,
  OIDCDisableUserInfo: t.flag,
  OIDCScopes: t.maybeListOf(t.text),
  AllowedRedirectURIs: t.maybeListOf(t.text),
  BoundAudiences: t.maybeListOf(t.text),
  BoundIssuer: t.maybeListOf(t.text),
  SigningAlgs: t.maybeListOf(t.text),
  ExpirationLeeway: t.text,
  NotBeforeLeeway: t.text,
  ClockSkewLeeway: t.text,
  ClaimMappings: t.maybeMapOf(t.text),
  ListClaimMappings: t.maybeMapOf(t.text),
  VerboseLogging: t.flag,
});

const BINDING_RULE = {
  ID: t.text,
  Description: t.text,
  AuthMethod: t.text,
  Hash: t.text,
  ...INDEXES,
};

/**
 * The schemas of tokens, policies, roles, auth methods and binding rules (section 7.1 of the reference of operator
 * endpoints).
 */
export const ACCESS_SCHEMAS: Readonly<Record<string, t.JsonSchema>> = {
  ACLToken: t.plain({ ...TOKEN, SecretID: t.text, ExpirationTTL: t.text }),
  ACLTokenListStub: t.plain(TOKEN),
  ACLPolicy: t.plain({ ...POLICY, Rules: t.text, RulesJSON: t.anything }),
  ACLPolicyListStub: t.plain(POLICY),
  ACLRole: t.plain({
    ID: t.text,
    Name: t.text,
    Description: t.text,
    Policies: t.listOf(t.plain({ Name: t.text })),
    Hash: t.text,
    ...INDEXES,
  }),
  ACLAuthMethod: t.plain({
    ...AUTH_METHOD,
    TokenLocality: t.oneOf('local', 'global'),
    TokenNameFormat: t.text,
    MaxTokenTTL: t.text,
    Config: METHOD_CONFIG,
    CreateTime: t.text,
    ModifyTime: t.text,
  }),
  ACLAuthMethodListStub: t.plain(AUTH_METHOD),
  ACLBindingRule: t.plain({
    ...BINDING_RULE,
    Selector: t.text,
    BindType: t.oneOf('role', 'policy', 'management'),
    BindName: t.text,
    CreateTime: t.text,
    ModifyTime: t.text,
  }),
  ACLBindingRuleListStub: t.plain(BINDING_RULE),
  OneTimeToken: t.plain({ OneTimeSecretID: t.text, AccessorID: t.text, ExpiresAt: t.text, ...INDEXES }),
};
