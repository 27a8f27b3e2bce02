import { contentHash } from '../encoding/content-hash.js';

/** Where logins come from: an OIDC provider, or anybody whose signatures the method's keys verify. */
export type AuthMethodType = 'OIDC' | 'JWT';

/** Whether the tokens that a login makes are known in every region. */
export type TokenLocality = 'local' | 'global';

/** What signs the assertion by which Waybill authenticates itself at an OIDC provider. */
export type ClientAssertionKeySource = 'nomad' | 'private_key' | 'client_secret';

/** How the key of a client assertion is named in its header; empty where there is no key to name. */
export type AssertionKeyIdHeader = '' | 'kid' | 'x5t' | 'x5t#S256';

/** The key of a client assertion (AU-14): one of `SealedPemKey` and `PemKeyFile`, and one of the three that name it. */
export interface ClientAssertionKey {
  /** The key in PEM, sealed for the method; empty: it is in `PemKeyFile`. The wire's `PemKey` is `redacted` or empty. */
  SealedPemKey: string;
  PemKeyFile: string;
  PemCert: string;
  PemCertFile: string;
  KeyID: string;
  KeyIDHeader: AssertionKeyIdHeader;
}

/** How Waybill authenticates itself at an OIDC provider without sending the client secret. Defaults are filled in. */
export interface ClientAssertion {
  KeySource: ClientAssertionKeySource;
  Audience: string[];
  KeyAlgorithm: string;
  /** Null unless `KeySource` is `private_key`, or where it was given without need. */
  PrivateKey: ClientAssertionKey | null;
  ExtraHeaders: Record<string, string> | null;
}

/**
 * What a method verifies, and which claims it passes on. Lists and maps are null where they were not given. Leeways are
 * nanoseconds; 0 is the default and a negative one is none (AU-80 to AU-82).
 */
export interface AuthMethodConfig {
  JWTValidationPubKeys: string[] | null;
  JWKSURL: string;
  JWKSCACert: string;
  OIDCDiscoveryURL: string;
  DiscoveryCaPem: string[] | null;
  OIDCClientID: string;
  /** The client secret, sealed for the method; empty: there is none. The wire's `OIDCClientSecret` is `redacted` or empty. */
  SealedClientSecret: string;
  OIDCClientAssertion: ClientAssertion | null;
  OIDCEnablePKCE: boolean;
  OIDCDisableUserInfo: boolean;
  OIDCScopes: string[] | null;
  AllowedRedirectURIs: string[] | null;
  BoundAudiences: string[] | null;
  BoundIssuer: string[] | null;
  SigningAlgs: string[] | null;
  ExpirationLeeway: number;
  NotBeforeLeeway: number;
  ClockSkewLeeway: number;
  ClaimMappings: Record<string, string> | null;
  ListClaimMappings: Record<string, string> | null;
  VerboseLogging: boolean;
}

/**
 * Where logins come from, as it is stored. No secret is stored in clear: the two that a method can have are sealed under
 * the cluster's key, for this method only (AU-24). `MaxTokenTTL` is ns, times are RFC 3339.
 */
export interface AuthMethod {
  Name: string;
  Type: AuthMethodType;
  TokenLocality: TokenLocality;
  TokenNameFormat: string;
  MaxTokenTTL: number;
  Default: boolean;
  Config: AuthMethodConfig;
  Hash: string;
  CreateTime: string;
  ModifyTime: string;
  CreateIndex: number;
  ModifyIndex: number;
}

/** What a writer says of a method. `ModifyTime` is the time of the write; `CreateTime` is known where it is applied. */
export type AuthMethodSpecification = Omit<AuthMethod, 'Hash' | 'CreateTime' | 'CreateIndex' | 'ModifyIndex'>;

/**
 * Equal for methods that say the same, whatever the order of their members (AU-21). A secret counts in its sealed form,
 * which is the same for the same secret of the same method.
 */
export const authMethodHash = ({
  Name,
  Type,
  TokenLocality,
  TokenNameFormat,
  MaxTokenTTL,
  Default,
  Config,
}: AuthMethodSpecification): string =>
  contentHash({ Name, Type, TokenLocality, TokenNameFormat, MaxTokenTTL, Default, Config });
