import { z } from 'zod';
import type { OutsideFetch } from './outside-calls.transport.js';

/** What a provider says of itself, as far as it is used. Everything else stays in it. */
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

/** A provider says of itself what it should not, or nothing. */
export class ProviderMetadataError extends Error {
  override readonly name = 'ProviderMetadataError';
}

const WELL_KNOWN = '/.well-known/openid-configuration';
const OK = 200;

/**
 * What the provider at this URL says of itself. Its issuer must be the URL, letter by letter (AU-73), and its addresses
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

/** A provider that is found over TLS is not talked to in clear. */
function mustBeAsSafe(name: string, address: string | undefined, discoveryUrl: string): void {
  if (address === undefined) return;
  const protocol = URL.canParse(address) ? new URL(address).protocol : undefined;
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isPlain(discoveryUrl));
  if (!isSafe) throw new ProviderMetadataError(`the provider's ${name} "${address}" is no https URL`);
}

/** Whether a provider is talked to without TLS: only where its operator has written so. */
export const isPlain = (url: string): boolean => URL.canParse(url) && new URL(url).protocol === 'http:';
