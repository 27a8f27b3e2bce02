import type { Clock } from '@waybill/model';
import type { GrantedToken, LoginService } from './login-service.js';
import { type CallServer, jsonOf, memberOf, ServerRefusedError, textOf } from './server-call.js';

export interface ConsulLogin {
  readonly call: CallServer;
  readonly clock: Clock;
  readonly authMethod: string;
  /** Empty: the default one. */
  readonly namespace: string;
  readonly partition: string;
  /** The task that gets the token, for readers of Consul's list of tokens. */
  readonly requestedBy: string;
}

/** Returns the query of a request to Consul, with the namespace and the partition if there are any. */
export function consulQuery(
  { namespace, partition }: Pick<ConsulLogin, 'namespace' | 'partition'>,
  others: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams({
    ...others,
    ...(namespace !== '' && { ns: namespace }),
    ...(partition !== '' && { partition }),
  }).toString();
  return query === '' ? '' : `?${query}`;
}

export const consulHeaders = (token: string): Readonly<Record<string, string>> =>
  token === '' ? {} : { 'x-consul-token': token };

/** Consul as the service of one task's token (AU-165). Its tokens cannot be renewed. */
export class Consul implements LoginService {
  readonly product = 'Consul';

  constructor(private readonly at: ConsulLogin) {}

  async login(BearerToken: string): Promise<GrantedToken> {
    const { call, authMethod: AuthMethod, clock, requestedBy } = this.at;
    const body = { AuthMethod, BearerToken, Meta: { requested_by: requestedBy } };
    const answer = await call({ method: 'POST', path: `/v1/acl/login${consulQuery(this.at)}`, body });
    const granted = jsonOf(answer, this.product);
    const token = textOf(memberOf(granted, 'SecretID'));
    if (token === '') throw new ServerRefusedError(200, `${this.product} answered without a token`);
    return { token, validMs: validMs(textOf(memberOf(granted, 'ExpirationTime')), clock), renewable: false };
  }

  async accepts(token: string): Promise<boolean> {
    const path = `/v1/acl/token/self${consulQuery(this.at)}`;
    try {
      jsonOf(await this.at.call({ method: 'GET', path, headers: consulHeaders(token) }), this.product);
      return true;
    } catch (error) {
      if (error instanceof ServerRefusedError) return false;
      throw error;
    }
  }

  async end(token: string): Promise<void> {
    const path = `/v1/acl/logout${consulQuery(this.at)}`;
    jsonOf(await this.at.call({ method: 'POST', path, headers: consulHeaders(token) }), this.product);
  }
}

/** Returns the life of a token. Consul names the time of its end by its own clock. */
function validMs(expirationTime: string, clock: Clock): number | null {
  const atMs = Date.parse(expirationTime);
  return Number.isNaN(atMs) || atMs <= 0 ? null : Math.max(0, atMs - clock.nowMs());
}
