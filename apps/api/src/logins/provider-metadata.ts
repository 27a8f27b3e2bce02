import { z } from 'zod';
import type { OutsideFetch } from './outside-calls.transport.js';

/** The members of a provider's metadata that are used. All other members are kept. */
const METADATA = z.looseObject({
  issuer: z.string(),
  jwks_uri: z.string(),
  authorization_endpoint: z.string().optional(),
  token_endpoint: z.string().optional(),
  userinfo_endpoint: z.string().optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
});

export type ProviderMetadata = z.infer<typeof METADATA>;

/** ProviderMetadataError says that a provider's metadata is missing or invalid. */
export class ProviderMetadataError extends Error {
  override readonly name = 'ProviderMetadataError';
}

const WELL_KNOWN = '/.well-known/openid-configuration';
const OK = 200;

/**
 * Fetches the metadata of the provider at this URL. Its issuer must equal the URL exactly (AU-73), and its addresses
 * must be as safe as the URL.
 * @throws ProviderMetadataError, OutsideCallError
 */
export async function providerMetadata(discoveryUrl: string, call: OutsideFetch): Promise<ProviderMetadata> {
  const url = `${discoveryUrl.replace(/\/$/, '')}${WELL_KNOWN}`;
  const answer = await call(url, { method: 'GET', headers: { accept: 'application/json' } });
  if (answer.status !== OK) throw new ProviderMetadataError(`GET ${url}: status ${answer.status}`);
  const metadata = METADATA.safeParse(await jsonOf(answer));
  if (!metadata.success) throw new ProviderMetadataError(`GET ${url}: no metadata of an OpenID provider`);
  const { data } = metadata;
  if (data.issuer !== discoveryUrl)
    throw new ProviderMetadataError(
      `issuer did not match the returned issuer, expected "${discoveryUrl}" got "${data.issuer}"`,
    );
  for (const name of ['jwks_uri', 'authorization_endpoint', 'token_endpoint', 'userinfo_endpoint'] as const)
    mustBeAsSafe(name, data[name], discoveryUrl);
  return data;
}

async function jsonOf(answer: Response): Promise<unknown> {
  try {
    return await answer.json();
  } catch {
    return undefined;
  }
}

/** Refuses addresses without TLS for a provider that is found over TLS. */
function mustBeAsSafe(name: string, address: string | undefined, discoveryUrl: string): void {
  if (address === undefined) return;
  const protocol = URL.canParse(address) ? new URL(address).protocol : undefined;
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isPlain(discoveryUrl));
  if (!isSafe) throw new ProviderMetadataError(`the provider's ${name} "${address}" is no https URL`);
}

/** Says whether a provider is called without TLS. This happens only if its operator has configured such a URL. */
export const isPlain = (url: string): boolean => URL.canParse(url) && new URL(url).protocol === 'http:';
