import { connect } from 'node:net';
import type { WorkloadCheck } from './workload-service.js';

/** AG-145: as much of an answer is kept. */
export const MAX_CHECK_OUTPUT_BYTES = 3 * 1024;

export interface ProbeResult {
  readonly ok: boolean;
  readonly output: string;
  /** 0: none. */
  readonly statusCode: number;
}

/** Looks once at what a check names. @throws why it could not be reached, also when `signal` gave up */
export type Probe = (check: WorkloadCheck, signal: AbortSignal) => Promise<ProbeResult>;

/** AG-145. */
export const networkProbe: Probe = (check, signal) =>
  check.spec.Type === 'http' ? probeHttp(check, signal) : probeTcp(check, signal);

async function probeHttp({ spec, address, port }: WorkloadCheck, signal: AbortSignal): Promise<ProbeResult> {
  const host = address.includes(':') ? `[${address}]` : address;
  const url = new URL(spec.Path, `${spec.Protocol || 'http'}://${host}:${port}`);
  const headers = new Headers(
    Object.entries(spec.Header ?? {}).flatMap(([name, values]) =>
      values.map((value): [string, string] => [name, value]),
    ),
  );
  const method = spec.Method || 'GET';
  const response = await fetch(url, {
    method,
    headers,
    signal,
    redirect: 'manual',
    ...(spec.Body && { body: spec.Body }),
  });
  const { status: statusCode } = response;
  if (statusCode === 200) {
    await response.body?.cancel();
    return { ok: true, output: 'nomad: http ok', statusCode };
  }
  return { ok: statusCode < 400, output: await beginningOf(response), statusCode };
}

async function beginningOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk as Uint8Array);
    bytes += (chunk as Uint8Array).byteLength;
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
