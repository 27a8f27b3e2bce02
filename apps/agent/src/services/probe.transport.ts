import { request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import { connect, isIP } from 'node:net';
import type { Readable } from 'node:stream';
import type { WorkloadCheck } from './workload-service.js';

/** The part of an answer that is kept as the output of a check (AG-145). */
export const MAX_CHECK_OUTPUT_BYTES = 3 * 1024;

export interface ProbeResult {
  readonly ok: boolean;
  readonly output: string;
  /** 0: none. */
  readonly statusCode: number;
}

/** Looks once at what a check names. @throws why it could not be reached, also when `signal` gave up */
export type Probe = (check: WorkloadCheck, signal: AbortSignal) => Promise<ProbeResult>;

/** Runs a check over HTTP or TCP, as its type says (AG-145). */
export const networkProbe: Probe = (check, signal) =>
  check.spec.Type === 'http' ? probeHttp(check, signal) : probeTcp(check, signal);

/** Follows no redirect: an answer that names another place is one. */
async function probeHttp({ spec, address, port }: WorkloadCheck, signal: AbortSignal): Promise<ProbeResult> {
  const host = address.includes(':') ? `[${address}]` : address;
  // Put together, not resolved: whatever the path looks like, the service is asked and nobody else.
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

/** As lists only where there are several: what may be sent once, as `Host`, is no list. */
const headersOf = ({ Header }: WorkloadCheck['spec']): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(Header ?? {}).map(([name, values]) => [
      name,
      values.length === 1 || name.toLowerCase() === 'host' ? (values[0] ?? '') : values,
    ]),
  );

/** Whom the certificate has to name; an address cannot be asked for by name. */
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
    if (bytes >= MAX_CHECK_OUTPUT_BYTES) break; // leaving the loop gives the rest up
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
