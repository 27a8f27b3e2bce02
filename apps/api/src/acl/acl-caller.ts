import { type AclPolicy, type AclRole, type AclToken, ANONYMOUS_POLICY, isExpiredAt, Refusal } from '@waybill/model';
import { ReadModel } from '@waybill/projection';
import type { Clock } from '@waybill/model';
import { forbidden } from '../http/api-error.js';
import type { ApiRequest } from '../http/reply.js';
import type { AccessControl } from './access-control.js';

/** Who asks about tokens, policies and roles. */
export interface AclCaller {
  /** Undefined: a caller without a token. */
  readonly token: AclToken | undefined;
  readonly isManagement: boolean;
  /** Roles of the token that exist. */
  readonly roles: readonly AclRole[];
  /** Policies that exist of the token and of its roles; of a caller without token the policy `anonymous`. */
  readonly policies: readonly AclPolicy[];
}

export const permissionDenied = (): Refusal => forbidden('Permission denied');

/** The token of a request has expired: most paths say no more than that it is refused (API-37). */
export class ExpiredTokenError extends Refusal {
  constructor() {
    super('forbidden', 'Permission denied');
  }
}

/**
 * Finds out who asks (OP-112 to OP-115). Stateless: what the answers of these routes depend on is read anew each time.
 * Cost: one statement for a management token, four for another.
 */
export class AclCallers {
  constructor(
    private readonly model: ReadModel,
    private readonly access: AccessControl,
    private readonly clock: Clock,
  ) {}

  /** @throws Refusal forbidden: the token is unknown; ExpiredTokenError */
  async of(request: ApiRequest): Promise<AclCaller> {
    const secret = credentialOf(request);
    if (secret === '') {
      const policies = await this.model.access.policiesNamed([ANONYMOUS_POLICY]);
      return { token: undefined, isManagement: false, roles: [], policies };
    }
    const grants = await this.model.access.grantsBySecretHash(this.access.on.secrets.hash(secret.toLowerCase()));
    if (!grants) throw permissionDenied();
    const { token, roles, policies } = grants;
    if (isExpiredAt(token.ExpirationTime, this.clock.nowMs())) throw new ExpiredTokenError();
    return { token, isManagement: token.Type === 'management', roles, policies };
  }

  /** @throws Refusal forbidden: the caller's token is no management token */
  async management(request: ApiRequest): Promise<AclCaller> {
    const caller = await this.of(request);
    if (!caller.isManagement) throw permissionDenied();
    return caller;
  }
}

/** The secret that a request carries, `X-Nomad-Token` before `Authorization: Bearer`; empty: none (API-619). */
function credentialOf({ headers }: Pick<ApiRequest, 'headers'>): string {
  const own = textOf(headers['x-nomad-token']);
  if (own !== '') return own;
  const [, bearer = ''] = /^bearer\s+(\S+)/i.exec(textOf(headers['authorization'])) ?? [];
  return bearer;
}

const textOf = (header: string | string[] | undefined): string =>
  (Array.isArray(header) ? (header[0] ?? '') : (header ?? '')).trim();
