import type { AuthMethod, AuthMethodType, Clock } from '@waybill/model';
import { errorText } from '@waybill/model';
import type { ReadModel } from '@waybill/projection';
import type { Author } from '@waybill/writing';
import { ApiError, badRequest } from '../http/api-error.js';
import type { Claims } from './claims/exact-json.js';
import { checkAudience, checkIssuer, checkTimes, ClaimRefusedError } from './jwt/claim-checks.js';
import type { KeySources } from './jwt/key-sources.js';
import type { UsedLogins } from './jwt/used-logins.js';
import { UnreadableKeyError } from './jwt/public-keys.js';
import { allowedAlgorithms, signedClaims } from './jwt/signature.js';
import type { LoginRequest } from './login-request.js';
import { type GrantedToken, type LoginTokens, type OnVerified, verifiedSubject } from './login-tokens.js';

export interface JwtLoginsOptions {
  readonly model: Pick<ReadModel, 'access'>;
  readonly keys: KeySources;
  readonly tokens: LoginTokens;
  readonly clock: Clock;
  /** The used tokens. If they are absent, a token may log in any number of times while it is valid. */
  readonly used?: UsedLogins;
}

/** JwtLogins exchanges JWTs that others have signed for tokens (AU-71 to AU-83). */
export class JwtLogins {
  constructor(private readonly options: JwtLoginsOptions) {}

  /**
   * Carries out the steps of AU-71 after the request is read. It reads the method once, so that a login uses one
   * version of it (AU-320).
   * @throws ApiError 401 if the token is refused; the errors of `LoginTokens.grant`
   */
  async login(
    { AuthMethodName, LoginToken }: LoginRequest,
    author: Author,
    onVerified: OnVerified,
  ): Promise<GrantedToken> {
    const { model, tokens } = this.options;
    const method = await methodOf(model, AuthMethodName, 'JWT');
    const log = tokens.log(method);
    const { claims, untilMs } = await this.verifyToken(method, LoginToken);
    await this.claimOnce(method, claims, untilMs);
    onVerified(verifiedSubject(method, claims));
    log.logClaims('token', claims);
    return tokens.grant({ method, claims, log }, author);
  }

  /** Marks a token as used, whether or not the login then grants anything (AU-84). */
  private async claimOnce({ Name }: AuthMethod, { jti }: Claims, untilMs: number): Promise<void> {
    const { used } = this.options;
    if (!used || typeof jti !== 'string' || jti === '') return;
    if (!(await used.claim(Name, jti, untilMs)))
      throw new ApiError(401, 'unable to validate provided token: it has logged in before, and may do so once');
  }

  private async verifyToken({ Config }: AuthMethod, token: string): Promise<{ claims: Claims; untilMs: number }> {
    const { keys, clock } = this.options;
    try {
      const claims = await signedClaims(token, await keys.of(Config), allowedAlgorithms(Config.SigningAlgs));
      checkAudience(claims, Config.BoundAudiences);
      const untilMs = checkTimes(claims, Config, clock.nowMs());
      checkBoundIssuer(claims, Config.BoundIssuer);
      return { claims, untilMs };
    } catch (error) {
      throw new ApiError(401, `unable to validate provided token: ${reasonOf(error)}`);
    }
  }
}

/** Returns a method of a type. @throws Refusal invalid if there is none of that name, or it has another type */
export async function methodOf(
  model: Pick<ReadModel, 'access'>,
  name: string,
  type: AuthMethodType,
): Promise<AuthMethod> {
  const { row } = await model.access.authMethod(name);
  if (!row) throw badRequest(`auth-method "${name}" not found`);
  if (row.Type !== type) throw badRequest(`unsupported auth-method type: ${row.Type}`);
  return row;
}

/** IssuerRefusedError has a text that is shown without the introduction of the other errors (AU-77). */
class IssuerRefusedError extends Error {
  override readonly name = 'IssuerRefusedError';
}

function checkBoundIssuer(claims: Claims, bound: readonly string[] | null): void {
  try {
    checkIssuer(claims, bound);
  } catch (error) {
    throw error instanceof ClaimRefusedError ? new IssuerRefusedError(error.message) : error;
  }
}

/** Returns why a token is refused, in the words of the reference (AU-74, AU-77). */
function reasonOf(error: unknown): string {
  if (error instanceof IssuerRefusedError) return error.message;
  if (error instanceof UnreadableKeyError) return `unable to parse public key for JWT auth: ${error.message}`;
  return `unable to verify signature of JWT token: ${errorText(error)}`;
}
