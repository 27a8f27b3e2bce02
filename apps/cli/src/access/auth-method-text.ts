import type { AuthMethodConfig, ClientAssertion } from '@waybill/model';
import type { Call } from '../command-spec.js';
import type { Answer } from '../server/api-client.js';
import { keyValues, table } from '../terminal/table.js';

/** An auth method in a list of the API. */
export interface MethodStub {
  readonly Name: string;
  readonly Type: string;
  readonly Default: boolean;
  readonly CreateIndex: number;
  readonly ModifyIndex: number;
}

type Leeway = 'ExpirationLeeway' | 'NotBeforeLeeway' | 'ClockSkewLeeway';

/** An auth method in a response of the API: secrets read `redacted`, leeways are texts. */
export interface Method extends MethodStub {
  readonly TokenLocality: string;
  readonly TokenNameFormat: string;
  readonly MaxTokenTTL: string;
  readonly Config: Omit<AuthMethodConfig, 'SealedClientSecret' | Leeway> & {
    readonly OIDCClientSecret: string;
  } & Readonly<Record<Leeway, string>>;
}

/** Prints an auth method as text or as data (AU-296). */
export function printMethod(
  { data, terminal }: Pick<Call, 'data' | 'terminal'>,
  { value, exact }: Answer<Method>,
): void {
  if (data) {
    data(exact);
    return;
  }
  terminal.print(methodList(value));
  terminal.section('Auth Method Config');
  terminal.print(`\n${configList(value)}`);
}

/** Lists the members of an auth method except its configuration (AU-296). */
export const methodList = (method: Method): string =>
  keyValues([
    ['Name', method.Name],
    ['Type', method.Type],
    ['Locality', method.TokenLocality],
    ['Max Token TTL', method.MaxTokenTTL],
    ['Token Name Format', method.TokenNameFormat],
    ['Default', String(method.Default)],
    ['Create Index', String(method.CreateIndex)],
    ['Modify Index', String(method.ModifyIndex)],
  ]);

/** Lists the configuration of an auth method (AU-296). */
export const configList = ({ Config }: Pick<Method, 'Config'>): string =>
  keyValues([
    ['JWT Validation Public Keys', listText(Config.JWTValidationPubKeys)],
    ['JWKS URL', Config.JWKSURL],
    ['OIDC Discovery URL', Config.OIDCDiscoveryURL],
    ['OIDC Client ID', Config.OIDCClientID],
    ['OIDC Client Secret', Config.OIDCClientSecret],
    ...assertionRows(Config.OIDCClientAssertion),
    ['OIDC Enable PKCE', String(Config.OIDCEnablePKCE)],
    ['OIDC Disable UserInfo', String(Config.OIDCDisableUserInfo)],
    ['OIDC Scopes', listText(Config.OIDCScopes)],
    ['Bound audiences', listText(Config.BoundAudiences)],
    ['Bound issuer', listText(Config.BoundIssuer)],
    ['Allowed redirects URIs', listText(Config.AllowedRedirectURIs)],
    ['Discovery CA pem', listText(Config.DiscoveryCaPem)],
    ['JWKS CA cert', Config.JWKSCACert],
    ['Signing algorithms', listText(Config.SigningAlgs)],
    ['Expiration Leeway', Config.ExpirationLeeway],
    ['NotBefore Leeway', Config.NotBeforeLeeway],
    ['ClockSkew Leeway', Config.ClockSkewLeeway],
    ['Claim mappings', mapText(Config.ClaimMappings)],
    ['List claim mappings', mapText(Config.ListClaimMappings)],
  ]);

function assertionRows(assertion: ClientAssertion | null): (readonly [string, string])[] {
  if (!assertion) return [];
  const { KeySource, KeyAlgorithm, Audience, ExtraHeaders } = assertion;
  const rows: (readonly [string, string])[] = [
    ['OIDC Client Assertion KeySource', KeySource],
    ['OIDC Client Assertion Algorithm', KeyAlgorithm],
    ['OIDC Client Assertion Audience', listText(Audience)],
  ];
  return ExtraHeaders ? [...rows, ['OIDC Client Assertion Headers', mapText(ExtraHeaders)]] : rows;
}

const listText = (texts: readonly string[] | null): string => (texts ?? []).join(',');

/** Formats a map, sorted, so that equal maps look equal. */
const mapText = (map: Readonly<Record<string, string>> | null): string =>
  Object.entries(map ?? {})
    .map(([source, target]) => `{${source}: ${target}}`)
    .toSorted()
    .join('; ');

/** Lists auth methods (AU-298). */
export const methodTable = (methods: readonly MethodStub[]): string =>
  table([['Name', 'Type', 'Default'], ...methods.map((method) => [method.Name, method.Type, String(method.Default)])]);
