import type { GrantedToken, LoginService } from './login-service.js';
import { type CallServer, jsonOf, memberOf, numberOf, ServerRefusedError, textOf } from './server-call.js';

export interface VaultLogin {
  readonly call: CallServer;
  /** The path of the auth method, such as `jwt-nomad`. */
  readonly authPath: string;
  /** Empty: the default role of the auth method. */
  readonly role: string;
  /** Empty: the root namespace. */
  readonly namespace: string;
}

/** Returns the headers of a request to Vault. @param token empty for a request without one */
export const vaultHeaders = (token: string, namespace: string): Readonly<Record<string, string>> => ({
  'x-vault-request': 'true',
  ...(token !== '' && { 'x-vault-token': token }),
  ...(namespace !== '' && { 'x-vault-namespace': namespace }),
});

/** Returns a path of Vault with its parts encoded. */
export const vaultPath = (path: string): string =>
  `/v1/${path
    .split('/')
    .filter((part) => part !== '')
    .map(encodeURIComponent)
    .join('/')}`;

/** Vault as the service of one task's token (AU-165). */
export class Vault implements LoginService {
  readonly product = 'Vault';

  constructor(private readonly at: VaultLogin) {}

  async login(jwt: string): Promise<GrantedToken> {
    const { authPath, role } = this.at;
    return this.granted(`auth/${authPath}/login`, '', { jwt, ...(role !== '' && { role }) });
  }

  async renew(token: string): Promise<GrantedToken> {
    return this.granted('auth/token/renew-self', token, {});
  }

  async accepts(token: string): Promise<boolean> {
    const headers = vaultHeaders(token, this.at.namespace);
    const answer = await this.at.call({ method: 'GET', path: '/v1/auth/token/lookup-self', headers });
    try {
      jsonOf(answer, this.product);
      return true;
    } catch (error) {
      if (error instanceof ServerRefusedError) return false;
      throw error;
    }
  }

  async end(token: string): Promise<void> {
    const headers = vaultHeaders(token, this.at.namespace);
    jsonOf(await this.at.call({ method: 'POST', path: '/v1/auth/token/revoke-self', headers }), this.product);
  }

  private async granted(path: string, token: string, body: object): Promise<GrantedToken> {
    const headers = vaultHeaders(token, this.at.namespace);
    const auth = memberOf(
      jsonOf(await this.at.call({ method: 'POST', path: vaultPath(path), headers, body }), this.product),
      'auth',
    );
    const seconds = numberOf(memberOf(auth, 'lease_duration'));
    return {
      token: textOf(memberOf(auth, 'client_token')) || missingToken(this.product),
      validMs: seconds > 0 ? seconds * 1_000 : null,
      renewable: memberOf(auth, 'renewable') === true,
    };
  }
}

const missingToken = (product: string): never => {
  throw new ServerRefusedError(200, `${product} answered without a token`);
};
