import { describe, expect, it } from 'vitest';
import { listeningOf, natsAccountsText, natsConfigText, reachedAt } from './nats-config.js';

const config = {
  port: 4333,
  storeDir: '/d/streams',
  pidFile: '/d/pid',
  maxPayloadBytes: 8_388_608,
  syncInterval: '100ms',
};

describe('natsConfigText', () => {
  it('listens on the loopback address only and always says how often to sync', () => {
    const text = natsConfigText(config);
    expect(text).toContain('host: "127.0.0.1"');
    expect(text).toContain('sync_interval: "100ms"');
    expect(text).toContain('max_payload: 8388608');
  });

  it('writes the word always without quotes, as the server wants it', () => {
    expect(natsConfigText({ ...config, syncInterval: 'always' })).toContain('sync_interval: always\n');
  });

  it('says how much of the disk streams may take, if that is known', () => {
    expect(natsConfigText({ ...config, maxFileStoreBytes: 1_000_000 })).toContain('  max_file_store: 1000000\n}');
    expect(natsConfigText(config)).not.toContain('max_file_store');
  });

  it('names who may connect, if that is said', () => {
    const accounts = { A: { users: [{ nkey: 'UABC' }] } };
    expect(natsConfigText({ ...config, guarded: true })).toContain('include "accounts.conf"\n');
    expect(natsAccountsText(accounts)).toBe('accounts: {"A":{"users":[{"nkey":"UABC"}]}}\n');
    expect(natsConfigText(config)).not.toContain('accounts');
  });

  it('says where it listens', () => {
    expect(listeningOf(natsConfigText(config))).toEqual({ host: '127.0.0.1', port: 4333 });
    expect(listeningOf(natsConfigText({ ...config, host: '::' }))).toEqual({ host: '::', port: 4333 });
    expect(listeningOf('listen: 4222')).toBeUndefined();
    expect(['0.0.0.0', '::', '10.0.0.7'].map(reachedAt)).toEqual(['127.0.0.1', '::1', '10.0.0.7']);
  });

  it('keeps a path with quotes and spaces one string', () => {
    expect(natsConfigText({ ...config, storeDir: '/my "data"' })).toContain('store_dir: "/my \\"data\\""');
  });
});
