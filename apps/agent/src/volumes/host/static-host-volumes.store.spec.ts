import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readSettings, SettingsError } from '@waybill/service';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HostVolumeError, staticHostVolumes } from './static-host-volumes.store.js';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'waybill-host-volumes-'));
  await writeFile(path.join(dir, 'file'), '');
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const configured = (text: string) =>
  staticHostVolumes(readSettings({ WAYBILL_HOST_VOLUMES: text }, []).WAYBILL_HOST_VOLUMES);

describe('host volumes of the configuration', () => {
  it('VL-279: are what the node shows', async () => {
    expect(await configured(`data=${dir},certs=${dir}:ro`)).toEqual({
      data: { Name: 'data', Path: dir, ReadOnly: false, ID: '' },
      certs: { Name: 'certs', Path: dir, ReadOnly: true, ID: '' },
    });
    expect(await configured('')).toEqual({});
  });

  it('one that is no directory, or nowhere, is told before anything starts', async () => {
    await expect(configured(`data=${dir}/none`)).rejects.toThrow(HostVolumeError);
    await expect(configured(`data=${dir}/file`)).rejects.toThrow('is no directory of this machine');
    expect(() => readSettings({ WAYBILL_HOST_VOLUMES: 'data=rel/ative' }, [])).toThrow(SettingsError);
  });
});
