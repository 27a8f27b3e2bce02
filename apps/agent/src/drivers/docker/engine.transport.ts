import type Docker from 'dockerode';
import { isErrno } from '@waybill/processes';

export const DEFAULT_ENDPOINT = 'unix:///var/run/docker.sock';

/** EndpointError says that the address of an engine is invalid. */
export class EndpointError extends Error {
  override readonly name = 'EndpointError';
  constructor(endpoint: string) {
    super(`"${endpoint}" is no address of a container engine: unix:///path, tcp://host:port or http(s)://host:port`);
  }
}

/**
 * Returns a client for the engine at an address. It sends nothing yet. Certificates for `tcp` come from
 * DOCKER_CERT_PATH and DOCKER_TLS_VERIFY, as for the engine's own client. The client library is loaded on first use,
 * because most agents have no engine.
 * @throws EndpointError
 */
export async function engineAt(endpoint: string): Promise<Docker> {
  const { default: Engine } = await import('dockerode');
  if (endpoint.startsWith('unix://')) return new Engine({ socketPath: endpoint.slice('unix://'.length) });
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (!url || !['tcp:', 'http:', 'https:'].includes(url.protocol)) throw new EndpointError(endpoint);
  const isSecure = url.protocol === 'https:' || Boolean(process.env['DOCKER_TLS_VERIFY']);
  return new Engine({ host: url.hostname, port: Number(url.port), protocol: isSecure ? 'https' : 'http' });
}

/** Returns the status of the engine's answer, or undefined if the engine did not answer. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : undefined;
}

/** Says whether the engine did not answer, because it is down or was restarted. */
export const isUnreachable = (error: unknown): boolean => statusOf(error) === undefined;

/** Says whether the engine did not answer or answered with an internal error, as it does while it stops or starts. */
export const isAway = (error: unknown): boolean => isUnreachable(error) || (statusOf(error) ?? 0) >= 500;

export const isMissing = (error: unknown): boolean => statusOf(error) === 404;

/** Returns the engine's message without the prefix of the client library. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (isErrno(error, 'ENOENT') || isErrno(error, 'ECONNREFUSED') || isErrno(error, 'EACCES'))
    return `the container engine cannot be reached: ${error.message}`;
  return error.message.replace(/^\(HTTP code \d+\) [^-]*- /, '').trim();
}

/** The statuses with which the engine answers for a container that has ended. */
const NOT_RUNNING = new Set([304, 404, 409]);

/**
 * Awaits a request about a container. It ignores the refusal for a container that has ended or is gone.
 * @throws Error for all other answers
 */
export async function ignoreEnded(asked: Promise<unknown>): Promise<void> {
  try {
    await asked;
  } catch (error) {
    if (!NOT_RUNNING.has(statusOf(error) ?? 0)) throw new Error(reasonOf(error), { cause: error });
  }
}

/** Returns the answer, or undefined if the object does not exist. */
export async function undefinedIfMissing<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
