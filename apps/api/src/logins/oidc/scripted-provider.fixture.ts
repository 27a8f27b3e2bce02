import type { OutsideFetch } from '../outside-calls.transport.js';
import type { ProviderMetadata } from '../provider-metadata.js';
import { type ProviderClient, secretAuthentication } from './provider.js';

export const ISSUER = 'https://idp.example';
export const METADATA: ProviderMetadata = {
  issuer: ISSUER,
  jwks_uri: `${ISSUER}/keys`,
  authorization_endpoint: `${ISSUER}/authorize`,
  token_endpoint: `${ISSUER}/token`,
  userinfo_endpoint: `${ISSUER}/me`,
};
export const REDIRECT = 'http://localhost:4649/oidc/callback';

export interface Call {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly form: URLSearchParams;
}

/** ScriptedProvider gives prepared answers and records the requests. */
export class ScriptedProvider {
  readonly calls: Call[] = [];

  constructor(readonly answers: Readonly<Record<string, () => Response | Promise<Response>>>) {}

  readonly fetch: OutsideFetch = async (url, { method, headers, body }) => {
    const form = body instanceof URLSearchParams ? body : new URLSearchParams();
    this.calls.push({ url, method, headers: new Headers(headers), form });
    const answer = this.answers[new URL(url).pathname];
    if (!answer) throw new Error(`nothing answers ${url}`);
    return answer();
  };

  client(over: Partial<ProviderClient> = {}): ProviderClient {
    return {
      config: { OIDCClientID: 'waybill', OIDCScopes: null, OIDCDiscoveryURL: ISSUER },
      metadata: METADATA,
      algorithms: ['RS256'],
      authentication: async () => secretAuthentication(METADATA, 'p@ss word'),
      call: this.fetch,
      ...over,
    };
  }
}

export const json = (body: unknown, init: ResponseInit = {}): Response =>
  new Response(typeof body === 'string' ? body : JSON.stringify(body), {
    ...init,
    headers: { 'content-type': 'application/json' },
  });
