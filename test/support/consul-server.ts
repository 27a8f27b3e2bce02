import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '@waybill/embedded';
import { eventually } from './wait.js';

const MANAGEMENT_TOKEN = '11111111-2222-3333-4444-555555555555';
const READY_MS = 60_000;

/** A real Consul in its development mode: one server, in memory, on this machine only, with access control. */
export class ConsulServer {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly home: string,
  ) {}

  /** @param program its path */
  static async start(program: string): Promise<ConsulServer> {
    const home = await mkdtemp(path.join(tmpdir(), 'waybill-consul-'));
    const http = await freePort();
    const ports = { http, dns: -1, grpc: -1, grpc_tls: -1, serf_wan: -1 };
    const acl = { enabled: true, default_policy: 'deny', tokens: { initial_management: MANAGEMENT_TOKEN } };
    const others = { server: await freePort(), serf_lan: await freePort() };
    const file = path.join(home, 'consul.json');
    await writeFile(file, JSON.stringify({ ports: { ...ports, ...others }, acl, bind_addr: '127.0.0.1' }));
    const child = spawn(program, ['agent', '-dev', `-config-file=${file}`], {
      env: { PATH: process.env['PATH'], HOME: home },
      stdio: 'ignore',
    });
    const consul = new ConsulServer(`http://127.0.0.1:${http}`, child, home);
    await eventually('Consul knows its management token', () => consul.asked('GET', 'acl/token/self'), READY_MS);
    return consul;
  }

  /** The token that may do everything. */
  get managementToken(): string {
    return MANAGEMENT_TOKEN;
  }

  /** Makes a request with all rights. @throws Error */
  async asked<T = unknown>(method: string, name: string, body?: object | string, token = MANAGEMENT_TOKEN): Promise<T> {
    const response = await fetch(`${this.url}/v1/${name}`, {
      method,
      headers: { 'x-consul-token': token },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${name}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
    await rm(this.home, { recursive: true, force: true });
  }
}
