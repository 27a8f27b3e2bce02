import type { AuthMethod, MappedClaims } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import { stringify } from 'lossless-json';
import type { RuleVerdict } from './binding/bound-names.js';
import type { Claims, ClaimValue } from './claims/exact-json.js';

/** The names of claims that look like credentials (AU-111). */
const CREDENTIAL = /_token$|secret|^password$/i;
const MASKED = '<masked>';

/**
 * LoginLog logs one login. It warns about rules that cannot be decided. It logs claims only if the method says so, at
 * `debug`, and never logs the token that contained them (AU-83, AU-111).
 */
export class LoginLog {
  private readonly log: Logger;
  private readonly isVerbose: boolean;

  constructor(logger: Logger, method: AuthMethod) {
    this.log = logger.with({ part: 'login', method: method.Name });
    this.isVerbose = method.Config.VerboseLogging;
    this.logVerbose('attempting login with verbose logging enabled');
  }

  /** @param from the source of the claims */
  logClaims(from: 'token' | 'user info', claims: Claims): void {
    this.logVerbose('claims', { from, claims: stringify(maskClaims(claims)) ?? '' });
  }

  logMapped(claims: MappedClaims): void {
    this.logVerbose('mapped claims', { claims: JSON.stringify(maskClaims({ ...claims.value, ...claims.list })) });
  }

  readonly logVerdict = ({ rule, matches, problem }: RuleVerdict): void => {
    if (problem !== undefined) this.log.warn('a binding rule cannot be decided and does not match', { rule, problem });
    this.logVerbose('binding rule', { rule, matches });
  };

  logBinding(kind: 'role' | 'policy', name: string, isFound: boolean): void {
    this.logVerbose('bind target', { kind, name, found: isFound });
  }

  private logVerbose(message: string, fields: Record<string, unknown> = {}): void {
    if (this.isVerbose) this.log.debug(message, fields);
  }
}

/** Returns claims without those that look like credentials, at any depth. */
function maskClaims(claims: Claims): Claims {
  const maskValue = (value: ClaimValue): ClaimValue => {
    if (Array.isArray(value)) return (value as readonly ClaimValue[]).map(maskValue);
    return typeof value === 'object' && value !== null ? maskClaims(value as Claims) : value;
  };
  return Object.fromEntries(
    Object.entries(claims).map(([name, value]) => [name, CREDENTIAL.test(name) ? MASKED : maskValue(value)]),
  );
}
