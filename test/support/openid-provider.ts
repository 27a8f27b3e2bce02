import { createServer, type Server } from 'node:http';
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, SignJWT, importJWK } from 'jose';
import { Provider } from 'oidc-provider';

/** Longest way through a provider: login, consent, and what is between them. */
const MAX_STEPS = 12;

export const CLIENT_ID = 'waybill-tests';
export const CLIENT_SECRET = 'secret-of-the-client-that-nobody-may-see';
/** A client without a secret: it proves who it is with the keys of its own set (`private_key_jwt`). */
export const KEY_CLIENT_ID = 'waybill-by-its-keys';
/** Groups of whoever logs in; each is a claim of the user info only. */
const GROUPS: Readonly<Record<string, readonly string[]>> = { alice: ['ops-eu', 'admins'], bob: ['guests'] };

/** A certified OpenID provider on this machine, and somebody at a browser who logs in there. */
export class OpenIdProvider {
  /** Paths that were asked for, in order. */
  readonly asked: string[] = [];
  /** Address of the keys of KEY_CLIENT_ID, which is no client without them. */
  private clientKeys: string | undefined;

  private constructor(
    private readonly server: Server,
    readonly issuer: string,
    private readonly redirectUris: readonly string[],
    private key: JWK,
  ) {}

  static async start(redirectUris: readonly string[]): Promise<OpenIdProvider> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const started = new OpenIdProvider(server, `http://127.0.0.1:${port}`, redirectUris, await newKey('first'));
    started.serve();
    return started;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** From now on tokens are signed with a new key, and the old one is gone from the set. */
  async rotateKey(id: string): Promise<void> {
    this.key = await newKey(id);
    this.serve();
  }

  /** From now on KEY_CLIENT_ID is a client whose keys are at this address. */
  trustKeysAt(url: string): void {
    this.clientKeys = url;
    this.serve();
  }

  /** A JWT that the provider's key has signed, with whatever claims. */
  async jwt(claims: Readonly<Record<string, unknown>>): Promise<string> {
    const key = await importJWK(this.key, 'RS256');
    return new SignJWT({ iss: this.issuer, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: this.key.kid })
      .sign(key);
  }

  /**
   * Goes to an address of the provider as a browser would, logs in and consents there.
   * @returns where the provider sends the browser back to
   */
  async logIn(url: string, user: string): Promise<string> {
    return this.browse(url, { login: user, password: 'any' });
  }

  /** The same, by somebody who leaves at the login page. */
  async refuse(url: string): Promise<string> {
    return this.browse(url, undefined);
  }

  private async browse(url: string, credentials: Readonly<Record<string, string>> | undefined): Promise<string> {
    const cookies = new Map<string, string>();
    let [next, form]: [string, URLSearchParams | undefined] = [url, undefined];
    for (let step = 0; step < MAX_STEPS; step++) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const answer = await fetch(next, {
        redirect: 'manual',
        headers: { cookie },
        ...(form && { method: 'POST', body: form }),
      });
      for (const set of answer.headers.getSetCookie()) {
        const [pair = ''] = set.split(';');
        const at = pair.indexOf('=');
        cookies.set(pair.slice(0, at), pair.slice(at + 1));
      }
      const text = await answer.text();
      const location = answer.headers.get('location');
      if (location !== null) {
        next = new URL(location, next).href;
        form = undefined;
        if (!next.startsWith(this.issuer)) return next;
        continue;
      }
      const [, action] = /<form[^>]* action="([^"]+)"/.exec(text) ?? [];
      if (answer.status !== 200 || action === undefined)
        throw new Error(`${next}: ${answer.status} ${text.slice(0, 2_000)}`);
      next = credentials ? new URL(action, next).href : `${next}/abort`;
      const prompt = text.includes('value="login"') ? 'login' : 'consent';
      form = credentials && new URLSearchParams({ prompt, ...(prompt === 'login' && credentials) });
    }
    throw new Error(`the provider does not come to an end: ${next}`);
  }

  private serve(): void {
    const client = {
      application_type: 'native',
      redirect_uris: this.redirectUris,
      response_types: ['code'],
      grant_types: ['authorization_code'],
    };
    const byKeys = { ...client, client_id: KEY_CLIENT_ID, token_endpoint_auth_method: 'private_key_jwt' };
    const provider = new Provider(this.issuer, {
      clients: [
        {
          ...client,
          client_id: CLIENT_ID,
          client_secret: CLIENT_SECRET,
          token_endpoint_auth_method: 'client_secret_basic',
        },
        ...(this.clientKeys === undefined
          ? []
          : [{ ...byKeys, jwks_uri: this.clientKeys, token_endpoint_auth_signing_alg: 'RS256' }]),
      ],
      jwks: { keys: [this.key] },
      cookies: { keys: [randomBytes(16).toString('hex')] },
      claims: { openid: ['sub'], groups: ['groups'] },
      scopes: ['openid', 'groups'],
      pkce: { required: () => false },
      conformIdTokenClaims: true,
      // With all of its options it calls nothing on this machine.
      fetch: (url, { method, headers }) => fetch(url, { ...(method && { method }), ...(headers && { headers }) }),
      features: { devInteractions: { enabled: true } },
      ttl: { AccessToken: 60, AuthorizationCode: 60, IdToken: 60, Interaction: 60, Session: 60, Grant: 60 },
      findAccount: async (_context, accountId) => ({
        accountId,
        claims: async () => ({ sub: accountId, groups: GROUPS[accountId] ?? [] }),
      }),
    });
    const answer = provider.callback();
    this.server.removeAllListeners('request');
    this.server.on('request', (request, response) => {
      this.asked.push(new URL(request.url ?? '/', this.issuer).pathname);
      answer(request, response);
    });
  }
}

async function newKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' };
}
