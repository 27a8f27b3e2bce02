import { contentHash } from '../encoding/content-hash.js';

/** The source of logins: an OIDC provider, or any issuer whose signatures the method's keys verify. */
export type AuthMethodType = 'OIDC' | 'JWT';

/** Whether the tokens that a login creates are valid in every region. */
export type TokenLocality = 'local' | 'global';

/** The key that signs the assertion by which Waybill authenticates itself at an OIDC provider. */
export type ClientAssertionKeySource = 'nomad' | 'private_key' | 'client_secret';

/** The header member that identifies the key of a client assertion. Empty if no key has to be identified. */
export type AssertionKeyIdHeader = '' | 'kid' | 'x5t' | 'x5t#S256';

/**
 * The key of a client assertion (AU-14). Exactly one of `SealedPemKey` and `PemKeyFile` is set, and exactly one of the
 * three members that identify the key.
 */
export interface ClientAssertionKey {
  /**
   * The key in PEM, sealed for the method. Empty if the key is in `PemKeyFile`. Clients see `PemKey`, which is
   * `redacted` or empty.
   */
  SealedPemKey: string;
  PemKeyFile: string;
  PemCert: string;
  PemCertFile: string;
  KeyID: string;
  KeyIDHeader: AssertionKeyIdHeader;
}

/** How Waybill authenticates itself at an OIDC provider without sending the client secret. Stored with its defaults. */
export interface ClientAssertion {
  KeySource: ClientAssertionKeySource;
  Audience: string[];
  KeyAlgorithm: string;
  /** Null unless `KeySource` is `private_key` or the client sent the block needlessly. */
  PrivateKey: ClientAssertionKey | null;
  ExtraHeaders: Record<string, string> | null;
}

/**
 * What a method verifies, and which claims it passes on. Lists and maps are null if the client did not send them.
 * Leeways are in nanoseconds: 0 stands for the default, and a negative value for no leeway (AU-80 to AU-82).
 */
export interface AuthMethodConfig {
  JWTValidationPubKeys: string[] | null;
  JWKSURL: string;
  JWKSCACert: string;
  OIDCDiscoveryURL: string;
  DiscoveryCaPem: string[] | null;
  OIDCClientID: string;
  /**
   * The client secret, sealed for the method. Empty if there is none. Clients see `OIDCClientSecret`, which is
   * `redacted` or empty.
   */
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
 * A stored auth method. No secret is stored in clear text: both secrets that a method can have are sealed under the
 * cluster's key for this method only (AU-24). `MaxTokenTTL` is in ns, times are RFC 3339.
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

/**
 * The members of a method that its writer sets. `ModifyTime` is the time of the write. The state machine sets
 * `CreateTime` when it applies the write.
 */
export type AuthMethodSpecification = Omit<AuthMethod, 'Hash' | 'CreateTime' | 'CreateIndex' | 'ModifyIndex'>;

/**
 * Two methods with the same specification have the same hash, whatever the order of their members (AU-21). A secret
 * counts in its sealed form, which is deterministic for one secret of one method.
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
