import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type ServiceName, WaybillProcesses } from './waybill-processes.js';

/** A token as its maker sees it. */
export interface MadeToken {
  readonly AccessorID: string;
  readonly SecretID: string;
}

/** A control plane with access control on. Modes: opened, then bootstrapped; `start` does both. */
export class AccessCluster {
  /** Secret of the management token; empty before the bootstrap. */
  management = '';
  /** Secrets of tokens by the rules of their one policy. */
  private readonly tokens = new Map<string, Promise<string>>();

  private constructor(
    readonly waybill: WaybillProcesses,
    /** Directory of the key file, which the servers read. */
    readonly keyDir: string,
  ) {}

  static async start(services?: readonly ServiceName[], env: NodeJS.ProcessEnv = {}): Promise<AccessCluster> {
    const cluster = await AccessCluster.open(services, env);
    cluster.management = (await cluster.asked<MadeToken>('PUT', '/v1/acl/bootstrap')).SecretID;
    return cluster;
  }

  /** Without a bootstrap: nobody has a token. */
  static async open(services?: readonly ServiceName[], env: NodeJS.ProcessEnv = {}): Promise<AccessCluster> {
    const keyDir = mkdtempSync(path.join(tmpdir(), 'waybill-acl-'));
    const keyFile = path.join(keyDir, 'key');
    writeFileSync(
      keyFile,
      `${randomBytes(32).toString('hex')}
`,
      { mode: 0o600 },
    );
    const settings = {
      WAYBILL_ACL_ENABLED: 'true',
      WAYBILL_ACL_KEY_FILE: keyFile,
      // Tests fail on purpose, and often.
      WAYBILL_ACL_FAILED_LOGINS_PER_MINUTE: '0',
      ...env,
    };
    return new AccessCluster(await WaybillProcesses.startTogether(settings, services), keyDir);
  }

  async stop(): Promise<void> {
    await this.waybill.stop();
    rmSync(this.keyDir, { recursive: true, force: true });
  }

  /** @param token secret; empty: none is sent */
  send(method: string, url: string, token: string, body?: unknown): Promise<Response> {
    return this.waybill.api.raw(url, {
      method,
      ...(token !== '' && { headers: { 'X-Nomad-Token': token } }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  /** The status alone: of a stream or a file it is all that is read. */
  async statusOf(method: string, url: string, token: string, body?: unknown): Promise<number> {
    const answer = await this.send(method, url, token, body);
    await answer.body?.cancel();
    return answer.status;
  }

  /** The answer to a request that must be allowed. @throws Error */
  async asked<T>(method: string, url: string, body?: unknown, token = this.management): Promise<T> {
    const answer = await this.send(method, url, token, body);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  policy(Name: string, Rules: string): Promise<void> {
    return this.asked('PUT', `/v1/acl/policy/${Name}`, { Name, Rules });
  }

  token(Name: string, Policies: readonly string[], ExpirationTTL = ''): Promise<MadeToken> {
    return this.asked('PUT', '/v1/acl/token', { Name, Type: 'client', Policies, ExpirationTTL });
  }

  /** The secret of a token with these rules; no rules: one that may do nothing. */
  tokenWith(rules: string): Promise<string> {
    const known = this.tokens.get(rules);
    if (known) return known;
    const made = this.makeTokenWith(rules, `p-${this.tokens.size}`);
    this.tokens.set(rules, made);
    return made;
  }

  private async makeTokenWith(rules: string, name: string): Promise<string> {
    await this.policy(name, rules);
    return (await this.token(name, [name])).SecretID;
  }
}
