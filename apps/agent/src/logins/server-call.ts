import { errorText } from '@waybill/model';

/** ServerCall is one request to Vault or Consul. */
export interface ServerCall {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** The path and the query, already encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Is sent as JSON. */
  readonly body?: object;
  /** The longest time until the whole answer is there; the default is CALL_TIMEOUT_MS. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface ServerAnswer {
  readonly status: number;
  readonly text: string;
  /** The index of Consul's answer (`X-Consul-Index`); 0 if there is none. */
  readonly index: number;
}

/**
 * CallServer sends a request and returns the answer, whatever its status.
 * @throws ServerAwayError if there is no answer
 */
export type CallServer = (call: ServerCall) => Promise<ServerAnswer>;

export const CALL_TIMEOUT_MS = 10_000;
/** The largest answer in bytes. Consul keeps values of up to 512 KiB, and a list has many. */
export const MAX_ANSWER_BYTES = 4 * 1_024 * 1_024;

/** ServerAwayError says that Vault or Consul does not answer now: the same request may succeed later. */
export class ServerAwayError extends Error {
  override readonly name = 'ServerAwayError';
}

/** ServerRefusedError says that Vault or Consul refuses a request. */
export class ServerRefusedError extends Error {
  override readonly name = 'ServerRefusedError';
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** The length of a server's own words in an error. */
const MAX_REASON = 300;
const TOO_MANY_REQUESTS = 429;
/** Vault answers it while a standby lacks the data of the request. */
const NOT_YET = 412;
const FIRST_ERROR = 400;
const FIRST_SERVER_ERROR = 500;

/**
 * Returns the JSON of a good answer; null for an empty one. @param server its name in errors
 * @throws ServerAwayError, ServerRefusedError
 */
export function jsonOf({ status, text }: ServerAnswer, server: string): unknown {
  if (status < FIRST_ERROR) {
    if (text.trim() === '') return null;
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw new ServerAwayError(`${server} answered with something that is no JSON: ${errorText(error)}`);
    }
  }
  const message = `${server} answered ${status}${reasonIn(text)}`;
  const isAway = status >= FIRST_SERVER_ERROR || status === TOO_MANY_REQUESTS || status === NOT_YET;
  throw isAway ? new ServerAwayError(message) : new ServerRefusedError(status, message);
}

/** Returns a server's words about an error as one line: the list of Vault, or the text of Consul. */
function reasonIn(text: string): string {
  const line = wordsOf(text)
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  return line === '' ? '' : `: ${line.length > MAX_REASON ? `${line.slice(0, MAX_REASON)}…` : line}`;
}

function wordsOf(text: string): string {
  try {
    const errors = memberOf(JSON.parse(text), 'errors');
    return Array.isArray(errors) ? errors.map(String).join(', ') : text;
  } catch {
    return text;
  }
}

/** Returns a member of an object; undefined if the value is no object or has no such member. */
export const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
export const numberOf = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0);
