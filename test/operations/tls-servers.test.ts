import { mkdtemp, rm } from 'node:fs/promises';
import { chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startNats, startPostgres, type RunningServer, type ServerTls } from '@waybill/embedded';
import { connect } from '@waybill/journal';
import { migrate, openPool } from '@waybill/projection';
import { readSettings } from '@waybill/service';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestAuthority } from '../support/certificates.js';

let dir: string;
let authority: TestAuthority;
let other: TestAuthority;
let tls: ServerTls;
beforeAll(async () => {
  [authority, other] = await Promise.all([TestAuthority.create(), TestAuthority.create()]);
  tls = { caFile: authority.caFile, ...(await authority.save('server', await authority.issue())) };
  dir = await mkdtemp(path.join(tmpdir(), 'waybill-tls-'));
  chmodSync(dir, 0o711); // root's PostgreSQL user passes through
});
afterAll(async () => {
  await Promise.all([authority.remove(), other.remove(), rm(dir, { recursive: true, force: true })]);
});

describe('NATS over TLS', () => {
  let nats: RunningServer;
  let strict: RunningServer;
  beforeAll(async () => {
    nats = await startNats({ dir: path.join(dir, 'nats'), tls });
    strict = await startNats({ dir: path.join(dir, 'strict'), tls: { ...tls, verifyCallers: true } });
  });
  afterAll(() => Promise.all([nats?.stop(), strict?.stop()]));

  const reach = async (url: string, files: object): Promise<boolean> => {
    const link = await connect({ url, name: 'test', tls: files, firstConnectMs: 0 });
    const isEncrypted = link.nc.info?.tls_required === true;
    await link.close();
    return isEncrypted;
  };
  /** What a connection fails with. */
  const failure = async (url: string, files: object): Promise<string> => {
    const error: unknown = await reach(url, files).catch((reason: unknown) => reason);
    return error instanceof Error ? String(error.cause) : 'none';
  };

  it('OP-224: is reached with its CA, and with no other, nor under another name', async () => {
    expect(nats.url).toMatch(/^tls:/);
    expect(await reach(nats.url, { caFile: authority.caFile })).toBe(true);
    expect(await failure(nats.url, { caFile: other.caFile })).toContain('certificate');
    expect(await failure(nats.url, {})).toContain('certificate');
    const elsewhere = nats.url.replace('127.0.0.1', '127.0.0.2');
    expect(await failure(elsewhere, { caFile: authority.caFile })).not.toBe('none');
  });

  it('OP-224: a certificate for another address is not taken, although it is for localhost too', async () => {
    const pair = await authority.issue({ addresses: ['10.1.2.3'] });
    const misnamed = { caFile: authority.caFile, ...(await authority.save('misnamed', pair)) };
    const server = await startNats({ dir: path.join(dir, 'misnamed'), tls: misnamed });
    try {
      expect(await failure(server.url, { caFile: authority.caFile })).toContain('127.0.0.1');
    } finally {
      await server.stop();
    }
  });

  it('OP-224: an address of tls:// is never reached in clear', async () => {
    const clear = await startNats({ dir: path.join(dir, 'clear') });
    try {
      const wanted = clear.url.replace('nats:', 'tls:');
      expect(await failure(wanted, { caFile: authority.caFile })).toContain('tls');
    } finally {
      await clear.stop();
    }
  });

  it('OP-224: a server that asks for a certificate is shown one of its CA', async () => {
    const shown = await authority.save('caller', await authority.issue({ purpose: 'caller' }));
    const foreign = await other.save('caller', await other.issue({ purpose: 'caller' }));
    expect(await reach(strict.url, { caFile: authority.caFile, ...shown })).toBe(true);
    expect(await failure(strict.url, { caFile: authority.caFile })).not.toBe('none');
    expect(await failure(strict.url, { caFile: authority.caFile, ...foreign })).not.toBe('none');
  });
});

describe('PostgreSQL over TLS', () => {
  let postgres: RunningServer;
  beforeAll(
    async () => void (postgres = await startPostgres({ dir: path.join(dir, 'postgres'), throwaway: true, tls })),
  );
  afterAll(() => postgres?.stop());

  const encrypted = async (url: string): Promise<unknown> => {
    const pool = openPool(readSettings({ WAYBILL_DATABASE_URL: url }, []).WAYBILL_DATABASE_URL, { size: 1 });
    try {
      const { rows } = await pool.query<{ version: string | null }>(
        'select version from pg_stat_ssl where pid = pg_backend_pid()',
      );
      return rows[0]?.version;
    } finally {
      await pool.end();
    }
  };

  it('OP-224: sslmode=verify-full checks the CA and the name; the schema is made over it too', async () => {
    expect(postgres.url).toContain('sslmode=verify-full&sslrootcert=');
    await migrate(postgres.url);
    expect(await encrypted(postgres.url)).toMatch(/^TLSv1\.[23]$/);
    const untrusted = postgres.url.replace(encodeURIComponent(authority.caFile), encodeURIComponent(other.caFile));
    await expect(encrypted(untrusted)).rejects.toThrow(/certificate/);
    const [clear = ''] = postgres.url.split('?');
    expect(await encrypted(clear)).toBeNull();
  });

  it('OP-224: a certificate for another address is not taken', async () => {
    const pair = await authority.issue({ addresses: ['10.1.2.3'] });
    const misnamed = { caFile: authority.caFile, ...(await authority.save('misnamed', pair)) };
    const server = await startPostgres({ dir: path.join(dir, 'misnamed-postgres'), throwaway: true, tls: misnamed });
    try {
      await expect(encrypted(server.url)).rejects.toThrow(/127\.0\.0\.1/);
    } finally {
      await server.stop();
    }
  });
});
