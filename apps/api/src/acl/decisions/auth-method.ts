import {
  type AuthMethod,
  type AuthMethodConfig,
  type AuthMethodType,
  type ClientAssertionKey,
  formatDuration,
  formatErrors,
  MAX_TOKEN_NAME_FORMAT_BYTES,
  nameLengthErrors,
  NAMESPACE_NAME,
  REDACTED,
  rfc3339FromMs,
  type TokenLifeLimits,
  type TokenLocality,
} from '@waybill/model';
import type { Decision } from '@waybill/writing';
import { badRequest } from '../../http/api-error.js';
import type { AssertionFiles } from '../assertion-files.store.js';
import type { GivenAssertionKey, GivenAuthMethod, GivenMethodConfig } from '../auth-method-request.js';
import type { MethodSecret } from '../method-secrets.js';
import type { LoginHosts } from '../login-hosts.js';
import { configProblems } from './auth-method-config.js';
import { assertionMisfit, filledAssertion, storedAssertion } from './client-assertion.js';
import { listedProblems } from './listed-problems.js';

/** MethodSecretForms encrypts the secrets of methods for storage and decrypts them. `MethodSecrets` implements it. */
export interface MethodSecretForms {
  seal(what: MethodSecret, method: string, secret: string): string;
  open(what: MethodSecret, method: string, sealed: string): string;
}

/** AuthMethodContext has what a decision about an auth method needs besides the request. */
export interface AuthMethodContext {
  /** The name in the path. It is undefined if the path has none. */
  readonly pathName: string | undefined;
  /** The stored method with the name in the request. */
  readonly stored: AuthMethod | undefined;
  /** The name of the default method. */
  readonly defaultName: string | undefined;
  /** The files that the client assertion names. */
  readonly files: AssertionFiles;
  /** Why the cluster's own key cannot sign a client assertion. Undefined if it can, or does not have to. */
  readonly clusterKeyProblem: string | undefined;
  readonly secrets: MethodSecretForms;
  readonly limits: TokenLifeLimits;
  readonly loginHosts: LoginHosts;
  readonly nowMs: number;
}

const DEFAULT_TOKEN_NAME_FORMAT = '${auth_method_type}-${auth_method_name}';
const TYPES: readonly string[] = ['OIDC', 'JWT'] satisfies AuthMethodType[];
const LOCALITIES: readonly string[] = ['local', 'global'] satisfies TokenLocality[];

/**
 * Creates or changes an auth method. A change keeps the stored value of each missing member except `Default` (AU-11 to
 * AU-20, AU-26). @throws Refusal invalid; UnsealableError if a stored secret is needed and cannot be decrypted
 */
export function authMethodWrite(given: GivenAuthMethod, context: AuthMethodContext): Decision<'ACLAuthMethodUpsert'> {
  const { pathName, stored, defaultName, nowMs } = context;
  if (pathName !== undefined && given.Name !== pathName)
    throw badRequest('ACL auth-method name does not match request path');
  const method = mergedMethod(given, stored);
  const problems = methodProblems(method, context);
  if (problems.length > 0 || !method.Config) throw badRequest(`auth method 0 invalid: ${formatErrors(problems)}`);
  const { Name, Type, TokenLocality, TokenNameFormat, MaxTokenTTL, Default } = method;
  const Config = storedConfig(method.Config, method, context);
  if (Default && defaultName !== undefined && defaultName !== Name)
    throw badRequest(`default method already exists: ${defaultName}`);
  const AuthMethod = {
    Name,
    // `methodProblems` has refused all other types.
    Type: Type as AuthMethodType,
    TokenLocality: TokenLocality as TokenLocality,
    TokenNameFormat,
    MaxTokenTTL,
    Default,
    Config,
    ModifyTime: rfc3339FromMs(nowMs),
  };
  return { type: 'ACLAuthMethodUpsert', payload: { AuthMethod } };
}

/** Returns the configuration of a write: the given one, or the stored one if the request has none (AU-17). */
export const configOfWrite = (given: GivenAuthMethod, stored: AuthMethod | undefined): GivenMethodConfig | null =>
  given.Config ?? (stored ? givenConfig(stored.Config) : null);

function mergedMethod(given: GivenAuthMethod, stored: AuthMethod | undefined): GivenAuthMethod {
  const Config = configOfWrite(given, stored);
  return {
    Name: given.Name,
    Type: given.Type || (stored?.Type ?? ''),
    TokenLocality: given.TokenLocality || (stored?.TokenLocality ?? ''),
    TokenNameFormat: given.TokenNameFormat || (stored?.TokenNameFormat ?? DEFAULT_TOKEN_NAME_FORMAT),
    MaxTokenTTL: given.MaxTokenTTL || (stored?.MaxTokenTTL ?? 0),
    Default: given.Default,
    Config: Config && {
      ...Config,
      OIDCClientAssertion: Config.OIDCClientAssertion && filledAssertion(Config.OIDCClientAssertion, Config),
    },
  };
}

/**
 * Converts a stored configuration to the form in which clients read it and send it back: with `redacted` for its
 * secrets.
 */
function givenConfig({ SealedClientSecret, OIDCClientAssertion, ...rest }: AuthMethodConfig): GivenMethodConfig {
  return {
    ...rest,
    OIDCClientSecret: redactedOf(SealedClientSecret),
    OIDCClientAssertion: OIDCClientAssertion && {
      ...OIDCClientAssertion,
      PrivateKey: OIDCClientAssertion.PrivateKey && givenKey(OIDCClientAssertion.PrivateKey),
    },
  };
}

const givenKey = ({ SealedPemKey, ...key }: ClientAssertionKey): GivenAssertionKey => ({
  ...key,
  PemKey: redactedOf(SealedPemKey),
});

const redactedOf = (sealed: string): string => (sealed === '' ? '' : REDACTED);

/** Returns the problems of an auth method in the order in which the contract lists them (AU-11). */
function methodProblems(
  method: GivenAuthMethod,
  { stored, limits: { minTtlNs, maxTtlNs }, loginHosts }: AuthMethodContext,
): string[] {
  const { Name, Type, TokenLocality, TokenNameFormat, MaxTokenTTL, Config } = method;
  const problems: string[] = [];
  if (!NAMESPACE_NAME.test(Name)) problems.push(`invalid name '${Name}'`);
  if (!LOCALITIES.includes(TokenLocality)) problems.push(`invalid token locality '${TokenLocality}'`);
  if (!TYPES.includes(Type)) problems.push(`invalid token type '${Type}'`);
  const wrong = Config ? configProblems(Config, Type, loginHosts) : ['missing auth method Config'];
  if (wrong.length > 0) problems.push(`invalid config: ${listedProblems(wrong)}`);
  if (Config && hasPlaceholder(Config, stored)) problems.push('secret is a placeholder');
  if (MaxTokenTTL < minTtlNs || MaxTokenTTL > maxTtlNs)
    problems.push(
      `invalid MaxTokenTTL value '${formatDuration(MaxTokenTTL)}' (should be between ${formatDuration(minTtlNs)} and ${formatDuration(maxTtlNs)})`,
    );
  for (const item of nameLengthErrors('TokenNameFormat', TokenNameFormat, MAX_TOKEN_NAME_FORMAT_BYTES))
    problems.push(item);
  return problems;
}

/** Returns the two stored secrets in their encrypted form. A missing one is empty. */
const sealedOf = (stored: AuthMethod | undefined): Readonly<Record<MethodSecret, string>> => ({
  OIDCClientSecret: stored?.Config.SealedClientSecret ?? '',
  PemKey: stored?.Config.OIDCClientAssertion?.PrivateKey?.SealedPemKey ?? '',
});

const givenSecrets = (config: GivenMethodConfig): Readonly<Record<MethodSecret, string>> => ({
  OIDCClientSecret: config.OIDCClientSecret,
  PemKey: config.OIDCClientAssertion?.PrivateKey?.PemKey ?? '',
});

/** Says whether `redacted` stands for a secret that is not stored (AU-26). */
function hasPlaceholder(config: GivenMethodConfig, stored: AuthMethod | undefined): boolean {
  const [given, sealed] = [givenSecrets(config), sealedOf(stored)];
  return SECRETS.some((what) => given[what] === REDACTED && sealed[what] === '');
}

const SECRETS: readonly MethodSecret[] = ['OIDCClientSecret', 'PemKey'];

interface Secret {
  readonly sealed: string;
  readonly clear: () => string;
}

/** Returns a secret. `redacted` keeps the stored secret in its encrypted form (AU-26). */
function secretOf(
  what: MethodSecret,
  config: GivenMethodConfig,
  { Name }: GivenAuthMethod,
  context: AuthMethodContext,
): Secret {
  const { secrets, stored } = context;
  const given = givenSecrets(config)[what];
  const kept = sealedOf(stored)[what];
  if (given === '') return { sealed: '', clear: () => '' };
  if (given === REDACTED) return { sealed: kept, clear: () => secrets.open(what, Name, kept) };
  return { sealed: secrets.seal(what, Name, given), clear: () => given };
}

/**
 * Returns the configuration with its secrets encrypted. @throws Refusal invalid if signing with it is impossible
 * (AU-16)
 */
function storedConfig(
  config: GivenMethodConfig,
  method: GivenAuthMethod,
  context: AuthMethodContext,
): AuthMethodConfig {
  const { OIDCClientSecret: _, OIDCClientAssertion, ...rest } = config;
  const clientSecret = secretOf('OIDCClientSecret', config, method, context);
  const pemKey = secretOf('PemKey', config, method, context);
  if (OIDCClientAssertion) {
    const { files, clusterKeyProblem, nowMs } = context;
    const signing = { clientSecret: clientSecret.clear, pemKey: pemKey.clear, files, clusterKeyProblem, nowMs };
    const misfit = assertionMisfit(OIDCClientAssertion, signing);
    if (misfit !== undefined) throw badRequest(`invalid OIDCClientAssertion: ${misfit}`);
  }
  return {
    ...rest,
    SealedClientSecret: clientSecret.sealed,
    OIDCClientAssertion: OIDCClientAssertion && storedAssertion(OIDCClientAssertion, pemKey.sealed),
  };
}
