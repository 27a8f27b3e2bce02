import type { WrappedRootKey } from '@waybill/model';
import { KeyServiceError } from '../key-service-error.js';
import type { KeyWrapper } from '../key-wrapper.js';
import { answerData, failureOf, type TransitAnswer } from './transit-answer.js';

/** The number of attempts of one operation, the first included. */
export const MAX_ATTEMPTS = 3;
/** The pause after the first attempt in milliseconds. The pause after the second is four times as long. */
export const FIRST_PAUSE_MS = 200;
/**
 * The time in milliseconds during which a failed service gets no further request. Anybody may ask for the public keys
 * and so cause requests.
 */
export const REST_MS = 5_000;
export type TransitOperation = 'encrypt' | 'decrypt';

/** A TransitCall sends one operation. @throws KeyServiceError if there is no answer; the error says why */
export type TransitCall = (
  operation: TransitOperation,
  body: Readonly<Record<string, string>>,
) => Promise<TransitAnswer>;

export interface TransitWrapperDeps {
  readonly call: TransitCall;
  readonly nowMs: () => number;
  readonly pause: (ms: number) => Promise<void>;
}

const BAD_REQUEST = 400;
/**
 * The HTTP statuses after which the same request may succeed: not caught up (412), too many requests (429), failures,
 * sealed (503).
 */
const PASSING: ReadonlySet<number> = new Set([412, 429, 500, 502, 503, 504]);
/** The form of a ciphertext, with the version of the service's key. */
const CIPHERTEXT = /^vault:v([1-9]\d{0,8}):[A-Za-z0-9+/]+={0,2}$/;
/** The text that is encrypted only to learn which version of the service's key encrypts now. */
const PROBE = 'waybill probe';

/**
 * TransitWrapper wraps root keys with the transit engine of Vault or OpenBao. The wrapping key never leaves that
 * service. The ID of the root key is the associated data, so data that was wrapped for one key does not unwrap for
 * another. A key counts as wrapped only after the wrapper has unwrapped it once: if the service answered wrongly,
 * nobody could read the variables of the key.
 *
 * Modes: asking → resting for REST_MS after an operation failed. While it rests, each operation fails at once. The
 * refusal of one ciphertext (400) is not such a failure. Limits: MAX_ATTEMPTS, with pauses. Cost: two requests to wrap,
 * one to unwrap.
 */
export class TransitWrapper implements KeyWrapper {
  readonly provider = 'transit';
  private restsUntilMs = 0;
  private failure: KeyServiceError | undefined;
  /** The version of the service's key that encrypted last; undefined until something was encrypted. */
  private version: number | undefined;

  constructor(private readonly deps: TransitWrapperDeps) {}

  /** @throws KeyServiceError */
  async wrap(keyId: string, secret: string): Promise<WrappedRootKey> {
    const Data = await this.encrypted(keyId, secret);
    const Wrapped = { Provider: this.provider, Data };
    const isReadBack = versionIn(Data) !== undefined && (await this.unwrap(keyId, Wrapped)) === secret;
    if (!isReadBack) throw new KeyServiceError('the key management service does not give back what it encrypted');
    return Wrapped;
  }

  /** @throws KeyServiceError; another Error if the service says that it did not encrypt this for this key */
  async unwrap(keyId: string, { Data }: WrappedRootKey): Promise<string> {
    const plaintext = await this.requestMember('decrypt', 'plaintext', { ciphertext: Data, ...boundTo(keyId) });
    return Buffer.from(plaintext, 'base64').toString('utf8');
  }

  /**
   * Says whether an older version of the service's key wrapped this than the one that encrypted last. A service that was
   * given a new key with a lower version has none that is older.
   */
  isOutdated({ Data }: WrappedRootKey): boolean {
    const version = versionIn(Data);
    return version !== undefined && this.version !== undefined && version < this.version;
  }

  /** Learns which version of the service's key encrypts now. Needs no further right. @throws KeyServiceError */
  async refresh(): Promise<void> {
    await this.encrypted(PROBE, PROBE);
  }

  private async encrypted(keyId: string, secret: string): Promise<string> {
    const body = { plaintext: base64Of(secret), ...boundTo(keyId) };
    const ciphertext = await this.requestMember('encrypt', 'ciphertext', body);
    this.version = versionIn(ciphertext) ?? this.version;
    return ciphertext;
  }

  /** Returns one member of the answer. */
  private async requestMember(
    operation: TransitOperation,
    member: string,
    body: Record<string, string>,
  ): Promise<string> {
    const { nowMs } = this.deps;
    if (this.failure && nowMs() < this.restsUntilMs) throw this.failure;
    try {
      const value = await this.requestWithRetries(operation, member, body);
      this.failure = undefined;
      return value;
    } catch (error) {
      if (error instanceof KeyServiceError) {
        this.failure = error;
        this.restsUntilMs = nowMs() + REST_MS;
      }
      throw error;
    }
  }

  private async requestWithRetries(
    operation: TransitOperation,
    member: string,
    body: Record<string, string>,
  ): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt === MAX_ATTEMPTS;
      const answer = await this.deps.call(operation, body).catch((error: unknown) => {
        if (isLast) throw error;
        return undefined;
      });
      if (answer && (isLast || !PASSING.has(answer.status))) return memberOf(answer, operation, member);
      await this.deps.pause(FIRST_PAUSE_MS * 4 ** (attempt - 1));
    }
  }
}

const base64Of = (text: string): string => Buffer.from(text).toString('base64');
const boundTo = (keyId: string): { readonly associated_data: string } => ({ associated_data: base64Of(keyId) });

function memberOf(answer: TransitAnswer, operation: TransitOperation, member: string): string {
  if (answer.status === BAD_REQUEST && operation === 'decrypt') throw new Error(failureOf(answer, operation));
  const value = answerData(answer, operation, 'data')[member];
  if (typeof value === 'string' && value !== '') return value;
  throw new KeyServiceError(`the answer to ${operation} has no ${member}: is this a transit engine?`);
}

/** Returns the version of the service's key in a ciphertext, or undefined if it is no ciphertext. */
function versionIn(ciphertext: string): number | undefined {
  const version = CIPHERTEXT.exec(ciphertext)?.[1];
  return version === undefined ? undefined : Number(version);
}
