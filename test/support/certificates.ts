import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createAuthority, issueCertificate, type IssueRequest, type KeyPair } from '@waybill/certificates';

const DAY_MS = 86_400_000;

/** A CA in a directory of its own, and certificates that it signs into files there. */
export class TestAuthority {
  private constructor(
    readonly directory: string,
    private readonly pair: KeyPair,
    /** File with its certificate. */
    readonly caFile: string,
  ) {}

  static async create(): Promise<TestAuthority> {
    const directory = await mkdtemp(path.join(tmpdir(), 'waybill-ca-'));
    const pair = await createAuthority({
      commonName: 'Test CA',
      organization: 'Tests',
      days: 30,
      nowMs: Date.now() - 10 * DAY_MS,
    });
    const caFile = path.join(directory, 'ca.pem');
    await writeFile(caFile, pair.certificate);
    return new TestAuthority(directory, pair, caFile);
  }

  get certificate(): string {
    return this.pair.certificate;
  }

  /** For `localhost` and 127.0.0.1, valid for ten days, unless told otherwise. */
  issue(given: Partial<IssueRequest> = {}): Promise<KeyPair> {
    return issueCertificate({
      authority: this.pair,
      commonName: 'server.global.nomad',
      names: ['server.global.nomad', 'localhost'],
      addresses: ['127.0.0.1'],
      purpose: 'both',
      days: 10,
      nowMs: Date.now(),
      ...given,
    });
  }

  /** One that ended a day ago. */
  expired(): Promise<KeyPair> {
    return this.issue({ days: 1, nowMs: Date.now() - 2 * DAY_MS });
  }

  /** Writes or replaces `<name>.pem` and `<name>-key.pem`, each whole. */
  async save(
    name: string,
    { certificate, key }: KeyPair,
  ): Promise<{ readonly certFile: string; readonly keyFile: string }> {
    const files = { certFile: this.file(`${name}.pem`), keyFile: this.file(`${name}-key.pem`) };
    await this.replace(files.keyFile, key);
    await this.replace(files.certFile, certificate);
    return files;
  }

  file(name: string): string {
    return path.join(this.directory, name);
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }

  private async replace(file: string, text: string): Promise<void> {
    await writeFile(`${file}.new`, text, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
}
