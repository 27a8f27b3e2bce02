import type { AuthMethod } from '@waybill/model';
import type { ReadModel } from '@waybill/projection';
import type { Logger } from '@waybill/telemetry';
import type { Author, TransactionWriter } from '@waybill/writing';
import { randomUUID } from 'node:crypto';
import type { AccessControl } from '../acl/access-control.js';
import type { VerifiedSubject } from '../http/request-notes.js';
import { type BoundNames, boundNames, tokenName } from './binding/bound-names.js';
import { loginToken } from './binding/login-token.js';
import type { Claims } from './claims/exact-json.js';
import { mapClaims } from './claims/mapped-claims.js';
import { LoginLog } from './login-log.js';

export interface LoginTokensOptions {
  readonly model: Pick<ReadModel, 'access'>;
  readonly writes: Pick<TransactionWriter, 'write' | 'nowMs'>;
  readonly access: AccessControl;
  readonly logger: Logger;
}

/** GrantedToken is a token that a login has made. */
export interface GrantedToken {
  readonly accessorId: string;
  /** The index of the transaction. */
  readonly index: number;
}

/**
 * OnVerified receives the subject as soon as its claims are verified, whether or not the login gets a token (AU-66,
 * AU-274).
 */
export type OnVerified = (subject: VerifiedSubject) => void;

/** Returns the subject of the claims. A text that a token lacks is empty. */
export function verifiedSubject(method: AuthMethod, claims: Claims): VerifiedSubject {
  const textOf = (name: string): string => {
    const claim = claims[name];
    return typeof claim === 'string' ? claim : '';
  };
  return { method: method.Name, issuer: textOf('iss'), subject: textOf('sub') };
}

/** VerifiedLogin is a login whose claims were verified. */
export interface VerifiedLogin {
  readonly method: AuthMethod;
  readonly claims: Claims;
  readonly log: LoginLog;
}

/** LoginTokens gives logins with verified claims their tokens (AU-61 to AU-67). */
export class LoginTokens {
  constructor(private readonly options: LoginTokensOptions) {}

  log(method: AuthMethod): LoginLog {
    return new LoginLog(this.options.logger, method);
  }

  /**
   * @throws Refusal invalid if nothing is bound, or a bound name is not valid; internal if claims or names cannot be
   * computed
   */
  async grant({ method, claims, log }: VerifiedLogin, author: Author): Promise<GrantedToken> {
    const { model, writes, access } = this.options;
    const mapped = mapClaims(claims, method.Config);
    log.logMapped(mapped);
    const bind = (rules: Parameters<typeof boundNames>[1]): BoundNames =>
      boundNames(method, rules, mapped, log.logVerdict);
    const { wanted, roles, policies } = await model.access.loginGrounds(method.Name, bind);
    logTargets(log, wanted, roles, policies);
    const { secrets, limits } = access.on;
    const context = { secrets, limits, nowMs: writes.nowMs(), newUuid: randomUUID };
    const decision = loginToken(
      { method, name: tokenName(method, mapped), bound: wanted, existing: { roles, policies } },
      context,
    );
    const { index } = await writes.write(decision, author);
    return { accessorId: decision.accessorId, index };
  }
}

function logTargets(
  log: LoginLog,
  wanted: BoundNames,
  roles: readonly { readonly Name: string }[],
  policies: readonly string[],
): void {
  if (wanted.kind === 'management') return;
  for (const name of wanted.roles)
    log.logBinding(
      'role',
      name,
      roles.some(({ Name }) => Name === name),
    );
  for (const name of wanted.policies) log.logBinding('policy', name, policies.includes(name));
}
