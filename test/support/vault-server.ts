import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '@waybill/embedded';
import { eventually } from './wait.js';

const ROOT_TOKEN = 'of-tests';
const READY_MS = 30_000;

/** A real Vault in its development mode: unsealed, in memory, on this machine only. */
export class VaultServer {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly home: string,
  ) {}

  /** @param program its path */
  static async start(program: string): Promise<VaultServer> {
    const address = `127.0.0.1:${await freePort()}`;
    const home = await mkdtemp(path.join(tmpdir(), 'waybill-vault-')); // its client would write the token there
    const words = ['server', '-dev', '-dev-no-store-token', `-dev-listen-address=${address}`];
    const child = spawn(program, [...words, `-dev-root-token-id=${ROOT_TOKEN}`], {
      env: { PATH: process.env['PATH'], HOME: home },
      stdio: 'ignore',
    });
    const vault = new VaultServer(`http://${address}`, child, home);
    await eventually('Vault is unsealed', async () => (await fetch(`${vault.url}/v1/sys/health`)).ok, READY_MS);
    return vault;
  }

  /** Makes a request with all rights. @throws Error */
  async asked<T = unknown>(method: string, name: string, body?: object, token = ROOT_TOKEN): Promise<T> {
    const response = await fetch(`${this.url}/v1/${name}`, {
      method,
      headers: { 'x-vault-token': token },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${name}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  /** Makes a token of these policies. @param life such as `ttl`, `period` and `explicit_max_ttl` */
  async token(policies: readonly string[], life: Readonly<Record<string, string | boolean>>): Promise<string> {
    const made = await this.asked<{ auth: { client_token: string } }>('POST', 'auth/token/create', {
      policies,
      ...life,
    });
    return made.auth.client_token;
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
    await rm(this.home, { recursive: true, force: true });
  }
}
