import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';

/** Answer is a status and a body. */
type Answer = readonly [status: number, body: unknown];

interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly token: string;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Issued {
  expiresAtMs: number;
  isRevoked: boolean;
  renewals: number;
}

/** A healthy service of Consul, as one entry of its list. */
const SERVICE = {
  Node: { Node: 'n', Address: '10.1.1.1', Datacenter: 'dc1' },
  Service: { ID: 'db-1', Service: 'db', Address: '', Port: 5432, Tags: [], Meta: {} },
  Checks: [{ Status: 'passing' }],
};

const REFUSED: Answer = [403, { errors: ['permission denied'] }];

/**
 * LoginSite answers as Vault and Consul do, as far as logins of tasks go, from their documented wire format. Tokens are
 * given for identities that the cluster of the test has signed for the right audience. It lists the requests.
 */
export class LoginSite {
  readonly requests: string[] = [];
  readonly tokens = new Map<string, Issued>();
  /** Secrets of Vault by their path. */
  readonly secrets = new Map<string, object>();
  private readonly kv = new Map<string, string>();
  private index = 10;
  private readonly waiting = new Set<() => void>();
  /** The life of Vault's tokens. */
  tokenMs = 6_000;
  isAway = false;
  private keys: () => Promise<JSONWebKeySet> = () => Promise.reject(new Error('no keys yet'));

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(): Promise<LoginSite> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const site = new LoginSite(server, `http://127.0.0.1:${port}`);
    server.on('request', (request, response) => void site.serve(request, response));
    return site;
  }

  /** Trusts a cluster. @param api its URL */
  trust(api: string): void {
    this.keys = async () => (await (await fetch(`${api}/.well-known/jwks.json`)).json()) as JSONWebKeySet;
  }

  /** Says whether a token counts. */
  isValid(token: string): boolean {
    const issued = this.tokens.get(token);
    return issued !== undefined && !issued.isRevoked && issued.expiresAtMs > Date.now();
  }

  revoke(token: string): void {
    const issued = this.tokens.get(token);
    if (issued) issued.isRevoked = true;
  }

  /** Writes a key of Consul, which ends the reads that wait. */
  setKey(name: string, value: string): void {
    this.kv.set(name, value);
    this.index++;
    for (const go of this.waiting) go();
    this.waiting.clear();
  }

  stop(): Promise<void> {
    for (const go of this.waiting) go();
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const url = new URL(request.url ?? '', this.url);
    const token = request.headers['x-vault-token'] ?? request.headers['x-consul-token'] ?? '';
    const given = { method: request.method ?? '', path: url.pathname, query: url.searchParams, token: String(token) };
    this.requests.push(`${given.method} ${given.path}`);
    const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
    const [status, answer] = this.isAway
      ? ([503, { errors: ['Vault is sealed'] }] as const)
      : await this.answer({ ...given, body });
    response.writeHead(status, { 'content-type': 'application/json', 'x-consul-index': String(this.index) });
    response.end(answer === null ? '' : JSON.stringify(answer));
  }

  private async answer(request: Request): Promise<Answer> {
    const { path } = request;
    if (path === '/v1/sys/seal-status') return [200, { sealed: false, version: '1.14.1', cluster_name: 'site' }];
    if (path === '/v1/agent/self') return [200, { Config: { Version: '1.16.1', Datacenter: 'dc1', NodeName: 'site' } }];
    if (path === '/v1/auth/jwt-nomad/login') return this.vaultLogin(request.body);
    if (path === '/v1/acl/login') return this.consulLogin(request.body);
    if (!this.isValid(request.token)) return REFUSED;
    if (path === '/v1/auth/token/renew-self') return this.renew(request.token);
    if (path === '/v1/auth/token/lookup-self' || path === '/v1/acl/token/self') return [200, { data: {} }];
    if (path === '/v1/auth/token/revoke-self' || path === '/v1/acl/logout') {
      this.revoke(request.token);
      return [path.startsWith('/v1/acl') ? 200 : 204, null];
    }
    if (path.startsWith('/v1/kv/')) return this.readKeys(request);
    if (path === '/v1/health/service/db') return [200, [SERVICE]];
    const data = this.secrets.get(path.slice('/v1/'.length));
    return data
      ? [200, { request_id: 'r', lease_id: '', lease_duration: 2, renewable: false, data }]
      : [404, { errors: [] }];
  }

  private async readKeys({ path, query }: Request): Promise<Answer> {
    if (Number(query.get('index')) >= this.index) await new Promise<void>((resolve) => this.waiting.add(resolve));
    const name = path.slice('/v1/kv/'.length);
    const pairs = [...this.kv].filter(([key]) => (query.has('recurse') ? key.startsWith(name) : key === name));
    if (pairs.length === 0) return [404, null];
    return [200, pairs.map(([Key, value]) => ({ Key, Value: Buffer.from(value).toString('base64') }))];
  }

  private async vaultLogin({ jwt, role }: Request['body']): Promise<Answer> {
    if (role !== 'tasks') return [400, { errors: [`role "${String(role)}" could not be found`] }];
    if (!(await this.isProven(jwt, 'vault.io'))) return [400, { errors: ['error validating token'] }];
    return this.granted(this.issue('hvs', this.tokenMs));
  }

  private async consulLogin({ AuthMethod, BearerToken }: Request['body']): Promise<Answer> {
    if (AuthMethod !== 'nomad-workloads' || !(await this.isProven(BearerToken, 'consul.io')))
      return [403, { errors: ['rpc error: Permission denied'] }];
    return [200, { SecretID: this.issue('consul', Infinity), AccessorID: 'accessor' }];
  }

  private renew(token: string): Answer {
    const issued = this.tokens.get(token);
    if (!issued) return REFUSED;
    issued.expiresAtMs = Date.now() + this.tokenMs;
    issued.renewals++;
    return this.granted(token);
  }

  private granted(client_token: string): Answer {
    return [200, { auth: { client_token, lease_duration: this.tokenMs / 1_000, renewable: true } }];
  }

  private issue(kind: string, lifeMs: number): string {
    const token = `${kind}.${this.tokens.size + 1}`;
    this.tokens.set(token, { expiresAtMs: Date.now() + lifeMs, isRevoked: false, renewals: 0 });
    return token;
  }

  private async isProven(jwt: unknown, audience: string): Promise<boolean> {
    try {
      await jwtVerify(String(jwt), createLocalJWKSet(await this.keys()), { audience });
      return true;
    } catch {
      return false;
    }
  }
}
