import { silentLogger } from '@waybill/telemetry';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MachineCredential } from './machine-credential.js';
import { NodeIdentityFile } from './node-identity.store.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'waybill-credential-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const started = (): Promise<MachineCredential> =>
  MachineCredential.load('secret', new NodeIdentityFile(dir, silentLogger));
const tokenOf = (claims: object): string => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;

describe('what a machine proves itself with', () => {
  it('AU-191, AU-197: its secret, until it has an identity; the newest one survives a restart', async () => {
    const credential = await started();
    expect([credential.current, credential.inRegistration]).toEqual(['secret', { Identity: '' }]);
    await credential.replace('first.of.it');
    await credential.replace('second.of.it');
    for (const one of [credential, await started()])
      expect([one.current, one.inRegistration]).toEqual(['second.of.it', { Identity: 'second.of.it' }]);
    expect((await stat(path.join(dir, 'node-identity.jwt'))).mode & 0o777).toBe(0o600);
  });

  it('AU-197: one that cannot be stored is not used, and the old one stays', async () => {
    const credential = await started();
    await credential.replace('first.of.it');
    await rm(path.join(dir, 'node-identity.jwt'));
    await mkdir(path.join(dir, 'node-identity.jwt', 'in-the-way'), { recursive: true });
    await expect(credential.replace('second.of.it')).rejects.toMatchObject({ code: 'EISDIR' });
    expect(credential.current).toBe('first.of.it');
    expect((await started()).current).toBe('secret');
  });

  it('AU-199: a requested renewal is asked for until a new identity comes, and is forgotten with a restart', async () => {
    const credential = await started();
    expect(credential.inHeartbeat).toEqual({ SecretID: 'secret', RenewIdentity: false });
    credential.requestRenewal();
    expect(credential.inHeartbeat).toEqual({ SecretID: 'secret', RenewIdentity: true });
    expect((await started()).inHeartbeat.RenewIdentity).toBe(false);
    await credential.replace('first.of.it');
    expect(credential.inHeartbeat).toEqual({ SecretID: 'first.of.it', RenewIdentity: false });
  });

  it('AU-198: after a refused identity it is the secret, until a new one comes', async () => {
    const credential = await started();
    expect(credential.refused('secret')).toBe(false);
    await credential.replace('first.of.it');
    expect([credential.refused('first.of.it'), credential.current]).toEqual([true, 'secret']);
    expect(credential.inRegistration).toEqual({ Identity: 'first.of.it' });
    await credential.replace('second.of.it');
    expect([credential.refused('first.of.it'), credential.current]).toEqual([true, 'second.of.it']);
  });

  it('AU-207: a forgotten one is gone from the disk too', async () => {
    const credential = await started();
    await Promise.all([credential.replace('first.of.it'), credential.forget()]);
    expect([credential.current, (await started()).current, await readdir(dir)]).toEqual(['secret', 'secret', []]);
  });

  it('AU-199: the claims are those of the identity, and there are none without or in what is no token', async () => {
    const credential = await started();
    expect(credential.claims()).toBeUndefined();
    await credential.replace(tokenOf({ nomad_node_id: 'n1' }));
    expect(credential.claims()).toEqual({ nomad_node_id: 'n1' });
    await credential.replace('no token');
    expect(credential.claims()).toBeUndefined();
  });

  it('without a store it asks for no identity', () => {
    const credential = new MachineCredential('secret');
    expect([credential.inRegistration, credential.inHeartbeat]).toEqual([{}, { SecretID: 'secret' }]);
  });
});
