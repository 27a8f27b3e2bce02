import { request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import { connect, isIP } from 'node:net';
import type { Readable } from 'node:stream';
import type { WorkloadCheck } from './workload-service.js';

/** The largest part of an answer in bytes that is kept as the output of a check (AG-145). */
export const MAX_CHECK_OUTPUT_BYTES = 3 * 1024;

export interface ProbeResult {
  readonly ok: boolean;
  readonly output: string;
  /** The HTTP status; 0 if there is none. */
  readonly statusCode: number;
}

/** Probe runs a check once. @throws why the service could not be reached, or the reason of `signal` */
export type Probe = (check: WorkloadCheck, signal: AbortSignal) => Promise<ProbeResult>;

/** Runs a check over HTTP or TCP, as its type says (AG-145). */
export const networkProbe: Probe = (check, signal) =>
  check.spec.Type === 'http' ? probeHttp(check, signal) : probeTcp(check, signal);

/** Runs a check over HTTP. It follows no redirect: a redirect is a valid answer. */
async function probeHttp({ spec, address, port }: WorkloadCheck, signal: AbortSignal): Promise<ProbeResult> {
  const host = address.includes(':') ? `[${address}]` : address;
  // The URL is concatenated, not resolved. Whatever the path looks like, only the service itself is asked.
  const path = spec.Path.startsWith('/') ? spec.Path : `/${spec.Path}`;
  const url = new URL(`${spec.Protocol || 'http'}://${host}:${port}${path}`);
  const options = { method: spec.Method || 'GET', headers: headersOf(spec), signal, agent: false } as const;
  return new Promise((resolve, reject) => {
    const request =
      url.protocol === 'https:'
        ? overHttps(url, {
            ...options,
            rejectUnauthorized: !spec.TLSSkipVerify,
            ...serverName(spec.TLSServerName, address),
          })
        : overHttp(url, options);
    request.once('error', reject);
    request.once('response', (response) => {
      const statusCode = response.statusCode ?? 0;
      const read = statusCode === 200 ? Promise.resolve('nomad: http ok') : beginningOf(response);
      read
        .then((output) => resolve({ ok: statusCode < 400, output, statusCode }), reject)
        .finally(() => request.destroy());
    });
    request.end(spec.Body || undefined);
  });
}

/** Returns the headers. Only several values become a list, because headers such as `Host` may be sent only once. */
const headersOf = ({ Header }: WorkloadCheck['spec']): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(Header ?? {}).map(([name, values]) => [
      name,
      values.length === 1 || name.toLowerCase() === 'host' ? (values[0] ?? '') : values,
    ]),
  );

/** Returns the name that the certificate must contain. An IP address is not sent as a server name. */
function serverName(given: string, address: string): { servername?: string } {
  if (given !== '') return { servername: given };
  return isIP(address) ? {} : { servername: address };
}

async function beginningOf(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes >= MAX_CHECK_OUTPUT_BYTES) break; // leaving the loop discards the rest
  }
  return Buffer.concat(chunks).subarray(0, MAX_CHECK_OUTPUT_BYTES).toString('utf8');
}

function probeTcp({ address, port }: WorkloadCheck, signal: AbortSignal): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, signal });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.destroy();
      resolve({ ok: true, output: 'nomad: tcp ok', statusCode: 0 });
    });
  });
}
