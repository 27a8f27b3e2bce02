import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { KeyPair } from '@waybill/certificates';

/** `silent` never answers; `moved` points to another server; `foolish` answers with another text than it was given. */
export type EngineMood = 'well' | 'sealed' | 'silent' | 'moved' | 'foolish' | 'endless';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const FORM = /^vault:v(\d+):(.+)$/;

interface Answer {
  readonly status: number;
  readonly body: object;
}
const refused = (status: number, error: string): Answer => ({ status, body: { errors: [error] } });

/** The transit engine of a Vault, with one key in several versions, that really encrypts (AES-256-GCM). */
export class TransitEngine {
  mood: EngineMood = 'well';
  token = 'hvs.of-tests';
  /** Requests that came. */
  requests = 0;
  private readonly versions: Buffer[] = [randomBytes(32)];

  private constructor(
    private readonly server: Server,
    private readonly namespace: string,
  ) {}

  static async start({ certificate, key }: KeyPair, namespace = ''): Promise<TransitEngine> {
    const server = createServer({ cert: certificate, key });
    const engine = new TransitEngine(server, namespace);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void engine.answer(request, response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return engine;
  }

  get url(): string {
    return `https://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  /** From now on a new version of the key encrypts; the old ones still decrypt. */
  rotate(): void {
    this.versions.push(randomBytes(32));
  }

  /** The version of its key that encrypts now. */
  get version(): number {
    return this.versions.length;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests++;
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    if (this.mood === 'silent') return;
    if (this.mood === 'endless') {
      response.writeHead(200);
      response.end(Buffer.alloc(1_024 * 1_024, 'x'));
      return;
    }
    const { status, body } = this.answerTo(request.url ?? '', request.headers, Buffer.concat(chunks).toString());
    response.writeHead(status, { 'content-type': 'application/json', location: 'https://localhost:1/' });
    response.end(JSON.stringify(body));
  }

  /** The token's life: what a look finds left of it, and what a renewal gives. */
  life = { leftS: 0, ttlS: 0, renewable: false };
  renewals = 0;

  private aboutToken(path: string): Answer | undefined {
    const { leftS, ttlS, renewable } = this.life;
    if (path === '/v1/auth/token/lookup-self')
      return { status: 200, body: { data: { ttl: leftS, renewable, expire_time: leftS > 0 ? 'later' : null } } };
    if (path !== '/v1/auth/token/renew-self') return undefined;
    this.renewals++;
    return { status: 200, body: { auth: { lease_duration: ttlS, renewable } } };
  }

  private answerTo(path: string, headers: IncomingHttpHeaders, text: string): Answer {
    if (this.mood === 'sealed') return refused(503, 'Vault is sealed');
    if (this.mood === 'moved') return { status: 307, body: {} };
    if (headers['x-vault-token'] !== this.token) return refused(403, '1 error occurred:\n\t* permission denied\n\n');
    if ((headers['x-vault-namespace'] ?? '') !== this.namespace) return refused(403, 'permission denied');
    const aboutToken = this.aboutToken(path);
    if (aboutToken) return aboutToken;
    const body = JSON.parse(text) as Record<string, string>;
    const bound = Buffer.from(body['associated_data'] ?? '', 'base64');
    if (path === '/v1/transit/encrypt/waybill')
      return this.encrypted(Buffer.from(body['plaintext'] ?? '', 'base64'), bound);
    if (path === '/v1/transit/decrypt/waybill') return this.decrypted(body['ciphertext'] ?? '', bound);
    return refused(404, `no handler for route "${path.slice('/v1/'.length)}". route entry not found.`);
  }

  private encrypted(plaintext: Buffer, bound: Buffer): Answer {
    const version = this.versions.length;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.versions[version - 1]!, nonce).setAAD(bound);
    const sealed = Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
    const data = { ciphertext: `vault:v${version}:${sealed.toString('base64')}`, key_version: version };
    return { status: 200, body: { request_id: 'id', data } };
  }

  private decrypted(ciphertext: string, bound: Buffer): Answer {
    const [, version = '', sealed = ''] = FORM.exec(ciphertext) ?? [];
    const key = this.versions[Number(version) - 1];
    if (!key) return refused(400, 'invalid ciphertext: no prefix');
    const bytes = Buffer.from(sealed, 'base64');
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(bound).setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const opened = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
      const plaintext = this.mood === 'foolish' ? Buffer.from('something else') : opened;
      return { status: 200, body: { request_id: 'id', data: { plaintext: plaintext.toString('base64') } } };
    } catch {
      return refused(400, 'cipher: message authentication failed');
    }
  }
}
