import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { proxiesFrom } from '../../apps/cli/src/server/proxy.js';
import { openWebSocket } from '../../apps/cli/src/server/wire.js';
import { RecordedApi } from '../support/recorded-api.js';

const ALLOC = '0f9e8d7c-0000-4000-8000-000000000002';
const NODE = '1f3a9c2e-0000-4000-8000-000000000003';

/** A proxy that passes everything to one server, whatever was asked for, and remembers what that was. */
class PlayedProxy {
  readonly asked: string[] = [];
  private readonly sockets = new Set<Socket>();
  private constructor(
    private readonly server: Server,
    to: number,
  ) {
    server.on('connection', (socket) => this.sockets.add(socket));
    server.on('request', (request, response) => {
      this.asked.push(`${request.method} ${request.url} ${request.headers['proxy-authorization'] ?? ''}`.trim());
      response.setHeader('Content-Type', 'application/json').end('[]');
    });
    server.on('connect', (request, socket, head) => {
      this.asked.push(`CONNECT ${request.url}`);
      if (request.url?.startsWith('forbidden')) return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      const there = connect(to, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        there.write(head);
        there.pipe(socket).pipe(there);
      });
      for (const end of [there, socket]) end.on('error', () => {});
    });
  }

  static async before(to: string): Promise<PlayedProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new PlayedProxy(server, Number(new URL(to).port));
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}

describe('how the command line reaches its server', () => {
  let api: RecordedApi;
  let proxy: PlayedProxy;
  beforeEach(async () => {
    api = await RecordedApi.start();
    proxy = await PlayedProxy.before(api.url);
  });
  afterEach(() => {
    api.stop();
    proxy.stop();
  });

  it('CL-125: a redirect of GET is followed within the same host, and only so far', async () => {
    const redirect = (to: string) => (response: ServerResponse) => void response.writeHead(307, { Location: to }).end();
    api.play('GET /v1/nodes', redirect('/v1/elsewhere'));
    api.play('GET /v1/elsewhere', []);
    expect((await api.run(['node', 'status'])).out).toBe('No nodes registered\n');

    api.play('GET /v1/nodes', redirect('http://127.0.0.2:1/v1/elsewhere'));
    expect((await api.run(['node', 'status'])).err).toBe('Error querying node status: Unexpected response code: 307\n');
    api.play('GET /v1/nodes', redirect('/v1/nodes'));
    api.seen.length = 0;
    expect((await api.run(['node', 'status'])).code).toBe(1);
    expect(api.seen).toHaveLength(6);

    api.play('PUT /v1/system/gc', redirect('/v1/elsewhere'));
    api.seen.length = 0;
    expect((await api.run(['system', 'gc'])).code).toBe(1);
    expect(api.seen.map(({ line }) => line)).toEqual(['PUT /v1/system/gc']);
  });

  it("CL-127: files, logs and statistics are asked of the given address only, never of the node's", async () => {
    const alloc = { ID: ALLOC, NodeID: NODE, Namespace: 'default', TaskGroup: 'g', Name: 'web.g[0]' };
    const node = { ID: NODE, HTTPAddr: '127.0.0.1:1', Status: 'ready', Name: 'n', NodeResources: {} };
    api.play('GET /v1/allocations', [alloc]);
    api.play(`GET /v1/allocation/${ALLOC}`, { ...alloc, Job: { TaskGroups: [{ Name: 'g', Tasks: [{ Name: 't' }] }] } });
    api.play('GET /v1/nodes', [node]);
    api.play(`GET /v1/node/${NODE}`, node);
    api.play(`GET /v1/node/${NODE}/allocations`, []);
    api.play(`GET /v1/client/fs/stat/${ALLOC}`, { IsDir: true, Name: '/' });
    for (const [words, path] of [
      [['alloc', 'logs', '0f9e'], `/v1/client/fs/logs/${ALLOC}`],
      [['alloc', 'fs', '0f9e'], `/v1/client/fs/ls/${ALLOC}`],
      [['alloc', 'status', '-stats', '0f9e'], `/v1/client/allocation/${ALLOC}/stats`],
      [['alloc', 'exec', '0f9e', 'true'], `/v1/client/allocation/${ALLOC}/exec`],
      [['node', 'status', '-stats', '1f3a'], '/v1/client/stats'],
    ] as const) {
      api.seen.length = 0;
      await api.run([...words]);
      expect(
        api.seen.map(({ line }) => line),
        words.join(' '),
      ).toContain(`GET ${path}`);
    }
  });

  it('a proxy of the environment passes on what is no loopback address; its password stays with it', async () => {
    const env = { HTTP_PROXY: `http://ann:s3cret@${proxy.address}`, HTTPS_PROXY: `http://ann:s3cret@${proxy.address}` };
    const far = (words: string[], address: string) => api.run(words, { ...env, WAYBILL_ADDR: address });
    expect((await far(['node', 'status'], 'http://waybill.example:4646')).out).toBe('No nodes registered\n');
    expect(proxy.asked).toEqual([
      `GET http://waybill.example:4646/v1/nodes Basic ${Buffer.from('ann:s3cret').toString('base64')}`,
    ]);
    expect((await far(['node', 'status'], api.url)).code).toBe(1);
    expect([proxy.asked.length, api.seen.length]).toEqual([1, 1]);

    // A WebSocket goes through a tunnel, at the end of which the server is spoken to as ever.
    const proxies = proxiesFrom({ HTTP_PROXY: `http://${proxy.address}` });
    const asked = { method: 'GET', url: new URL('http://waybill.example/v1/exec'), headers: {} };
    const opened = await openWebSocket(
      { ...(proxies && { proxies }) },
      { ...asked, signal: new AbortController().signal },
      1_000,
    );
    expect(opened.kind === 'refused' && opened.answer.statusCode).toBe(404);
    expect([proxy.asked.at(-1), api.seen.at(-1)?.line]).toEqual(['CONNECT waybill.example:80', 'GET /v1/exec']);

    const refused = await far(['node', 'status'], 'https://forbidden.example');
    expect(proxy.asked.at(-1)).toBe('CONNECT forbidden.example:443');
    expect(refused.err).toBe(
      `Error querying node status: Get "https://forbidden.example/v1/nodes": the proxy ${proxy.address} answers 403\n`,
    );
    // The server behind the tunnel speaks no TLS: that it is asked for at all is what there is to see.
    const noTls = await far(['node', 'status'], 'https://waybill.example');
    expect([noTls.code, proxy.asked.at(-1)]).toEqual([1, 'CONNECT waybill.example:443']);
    expect(noTls.err).not.toContain('s3cret');
  });
});
