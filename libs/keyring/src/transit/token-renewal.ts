import { type CancelTimer, errorText, type Timers } from '@waybill/model';
import { KeyServiceError } from '../key-service-error.js';
import { answerData, type TransitAnswer } from './transit-answer.js';

/** The pause between two looks at a token that needs no renewal: another program may have written a new one. */
export const LOOK_AGAIN_MS = 60_000;
/** The longest and the shortest pause before a failed request is repeated, in milliseconds. */
export const LONGEST_RETRY_MS = 60_000;
export const SHORTEST_RETRY_MS = 1_000;
/** The shortest pause between two renewals in milliseconds. A token that lives shorter than twice this is not usable. */
export const SHORTEST_RENEWAL_MS = 1_000;

export type TokenOperation = 'lookup-self' | 'renew-self';
/** A TokenCall sends one operation about the token itself. @throws KeyServiceError */
export type TokenCall = (operation: TokenOperation, token: string) => Promise<TransitAnswer>;

export interface RenewalFields {
  readonly validForMs?: number;
  readonly error?: string;
}

/** RenewalLog receives the messages for operators. No text contains the token. */
export interface RenewalLog {
  info(message: string, fields: RenewalFields): void;
  warn(message: string, fields: RenewalFields): void;
}

export interface TokenRenewalDeps {
  /** Reads the token. @throws KeyServiceError */
  readonly token: () => Promise<string>;
  readonly call: TokenCall;
  readonly timers: Timers;
  readonly logger: RenewalLog;
}

/** The life of a token as the service reports it. */
interface Life {
  /** Null if the token does not expire. */
  readonly leftMs: number | null;
  readonly isRenewable: boolean;
}

/**
 * TokenRenewal keeps the token of the key management service alive, so that a plain token works for longer than its
 * time to live. Every process renews the token that it uses; the service does not mind.
 *
 * unknown      the token is new here, or the last request failed: its life is looked up
 * renewing     it expires and can be renewed: at half of its remaining life it is
 * left alone   it does not expire, or cannot be renewed, which the log says once: LOOK_AGAIN_MS later it is read again
 *
 * A failure leaves everything as it is and is repeated after a quarter of the remaining life. Cost: one request at half
 * of each life, and one read of the token's file a minute otherwise.
 */
export class TokenRenewal {
  private cancel: CancelTimer = () => {};
  private stopped = false;
  private known: { readonly token: string; readonly life: Life } | undefined;
  /** The last warning, so that the same one is not repeated every minute. */
  private warned = '';

  constructor(private readonly deps: TokenRenewalDeps) {}

  /** Resolves after the first look at the token, whatever came of it. */
  start(): Promise<void> {
    return this.pass();
  }

  stop(): void {
    this.stopped = true;
    this.cancel();
  }

  private async pass(): Promise<void> {
    const waitMs = await this.keepAlive();
    if (this.stopped) return;
    this.cancel = this.deps.timers.after(waitMs, () => void this.pass());
  }

  /** Looks a new token up, or renews a known one. @returns the milliseconds until the next time */
  private async keepAlive(): Promise<number> {
    const known = this.known;
    try {
      const token = await this.deps.token();
      const isKnown = known?.token === token;
      const isDue = isKnown && isExpiring(known.life);
      if (isKnown && !isDue) return LOOK_AGAIN_MS;
      const life = isDue ? await this.renewed(token) : await this.lookedUp(token);
      this.known = { token, life };
      return this.report(life, isDue ? known.life : undefined);
    } catch (error) {
      this.warn('the token of the key management service could not be renewed', { error: errorText(error) });
      const leftMs = known?.life.leftMs ?? LONGEST_RETRY_MS;
      this.known = undefined;
      return Math.min(LONGEST_RETRY_MS, Math.max(SHORTEST_RETRY_MS, leftMs / 4));
    }
  }

  /** Writes the messages for operators. @param before the life after the last renewal, if there was one */
  private report(life: Life, before: Life | undefined): number {
    const { leftMs } = life;
    if (leftMs === null) return LOOK_AGAIN_MS;
    if (!life.isRenewable) {
      const message = 'the token of the key management service expires and cannot be renewed; replace it in time';
      this.warn(message, { validForMs: leftMs });
      return LOOK_AGAIN_MS;
    }
    if (before && leftMs < (before.leftMs ?? 0)) {
      const message = 'the token of the key management service reaches its longest life; replace it in time';
      this.warn(message, { validForMs: leftMs });
    } else this.warned = '';
    if (!before) this.deps.logger.info('the token of the key management service is renewed', { validForMs: leftMs });
    return Math.max(SHORTEST_RENEWAL_MS, leftMs / 2);
  }

  private warn(message: string, fields: RenewalFields): void {
    if (this.stopped || this.warned === message) return;
    this.warned = message;
    this.deps.logger.warn(message, fields);
  }

  private async lookedUp(token: string): Promise<Life> {
    const data = answerData(await this.deps.call('lookup-self', token), 'lookup-self', 'data');
    const ttlS = Number(data['ttl']);
    if (!Number.isFinite(ttlS)) throw new KeyServiceError('the answer to lookup-self has no ttl');
    // A token without an end has the time to live 0 and no expire_time.
    const expires = ttlS > 0 || typeof data['expire_time'] === 'string';
    return { leftMs: expires ? ttlS * 1_000 : null, isRenewable: data['renewable'] === true };
  }

  private async renewed(token: string): Promise<Life> {
    const auth = answerData(await this.deps.call('renew-self', token), 'renew-self', 'auth');
    const leftS = Number(auth['lease_duration']);
    if (!Number.isFinite(leftS)) throw new KeyServiceError('the answer to renew-self has no lease_duration');
    return { leftMs: leftS * 1_000, isRenewable: auth['renewable'] === true };
  }
}

const isExpiring = ({ leftMs, isRenewable }: Life): boolean => leftMs !== null && isRenewable;
