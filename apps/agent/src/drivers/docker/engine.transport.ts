import type Docker from 'dockerode';
import { isErrno } from '@waybill/processes';

export const DEFAULT_ENDPOINT = 'unix:///var/run/docker.sock';

/** An address that no engine can have. */
export class EndpointError extends Error {
  override readonly name = 'EndpointError';
  constructor(endpoint: string) {
    super(`"${endpoint}" is no address of a container engine: unix:///path, tcp://host:port or http(s)://host:port`);
  }
}

/**
 * The engine at an address; nothing is sent yet. Certificates for `tcp` come from DOCKER_CERT_PATH and
 * DOCKER_TLS_VERIFY, as for the engine's own client. The client is loaded when somebody asks: most agents have no engine.
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

/** The status that the engine answered with; undefined: it did not answer. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'
    ? error.statusCode
    : undefined;
}

/** It does not answer: it is not there, or was restarted meanwhile. */
export const isUnreachable = (error: unknown): boolean => statusOf(error) === undefined;

/** The same, or it answers of nothing but its own trouble, as one does that is going down or coming up. */
export const isAway = (error: unknown): boolean => isUnreachable(error) || (statusOf(error) ?? 0) >= 500;

export const isMissing = (error: unknown): boolean => statusOf(error) === 404;

/** What the engine says, without what its client puts in front of it. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (isErrno(error, 'ENOENT') || isErrno(error, 'ECONNREFUSED') || isErrno(error, 'EACCES'))
    return `the container engine cannot be reached: ${error.message}`;
  return error.message.replace(/^\(HTTP code \d+\) [^-]*- /, '').trim();
}

/** What the engine answers about a container that has ended. */
const NOT_RUNNING = new Set([304, 404, 409]);

/** Asks something of a container; one that has ended, or is gone, is past it. @throws what else the engine says */
export async function unlessEnded(asked: Promise<unknown>): Promise<void> {
  try {
    await asked;
  } catch (error) {
    if (!NOT_RUNNING.has(statusOf(error) ?? 0)) throw new Error(reasonOf(error), { cause: error });
  }
}

/** An answer; undefined: there is no such thing. */
export async function unlessMissing<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
