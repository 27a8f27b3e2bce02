import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { aCheck } from '../fixtures/offered-service.js';
import { MAX_CHECK_OUTPUT_BYTES, networkProbe } from './probe.transport.js';

const cleanUp: (() => void)[] = [];
afterEach(() => cleanUp.splice(0).forEach((run) => run()));

async function serving(answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUp.push(() => server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

const look = (port: number, over: Parameters<typeof aCheck>[0] = {}) => {
  const check = { id: 'c', service: 's', task: '', group: 'g', spec: aCheck(over), address: '127.0.0.1', port };
  return networkProbe(check, AbortSignal.timeout(5_000));
};

describe('looking at a service', () => {
  it('AG-145: method, path, headers and body of an http check arrive as configured', async () => {
    let seen: Pick<IncomingMessage, 'method' | 'url' | 'headers'> | undefined;
    let body = '';
    const port = await serving((request, response) => {
      seen = request;
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => response.end('secret'));
    });
    const result = await look(port, {
      Method: 'POST',
      Path: '/live?deep=1',
      Header: { 'X-Probe': ['a', 'b'] },
      Body: 'hi',
    });
    expect(result).toEqual({ ok: true, output: 'nomad: http ok', statusCode: 200 });
    expect([seen?.method, seen?.url, seen?.headers['x-probe'], body]).toEqual(['POST', '/live?deep=1', 'a, b', 'hi']);
  });

  it('AG-145: below 400 is a success; the body is shown for all but 200, cut', async () => {
    const port = await serving((request, response) => {
      response.writeHead(Number(request.url?.slice(1)), { location: '/200' }).end('x'.repeat(10_000));
    });
    for (const [status, ok] of [
      [302, true],
      [399, true],
      [400, false],
      [503, false],
    ] as const)
      expect(await look(port, { Path: `/${status}` })).toEqual({
        ok,
        output: 'x'.repeat(MAX_CHECK_OUTPUT_BYTES),
        statusCode: status,
      });
  });

  it('AG-145: a tcp check succeeds when it connects', async () => {
    const port = await serving(() => {});
    expect(await look(port, { Type: 'tcp' })).toEqual({ ok: true, output: 'nomad: tcp ok', statusCode: 0 });
    cleanUp.splice(0).forEach((run) => run());
    await expect(look(port, { Type: 'tcp' })).rejects.toThrow('ECONNREFUSED');
  });
});
