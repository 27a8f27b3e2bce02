import { describe, expect, it } from 'vitest';
import { VolumeFile } from './parse-volume.js';

const fileOf = (text: string): VolumeFile => VolumeFile.of({ name: 'volume.hcl', text });

describe('volume files', () => {
  it('a CSI volume, as the API takes it', () => {
    const file = fileOf(`
      id = "db[0]"
      name = "db"
      type = "csi"
      plugin_id = "disks"
      external_id = "vol-1"
      capacity_min = "10GiB"
      capacity_max = "20G"
      capability {
        access_mode = "single-node-writer"
        attachment_mode = "file-system"
      }
      capability {
        access_mode = "single-node-reader-only"
        attachment_mode = "file-system"
      }
      mount_options {
        fs_type = "ext4"
        mount_flags = ["noatime"]
      }
      topology_request {
        required {
          topology {
            segments { rack = "R1" }
          }
          topology {
            segments = { "topology.example/zone" = "z" }
          }
        }
      }
      secrets { key = "value" }
      parameters { kind = "fast" }
      context = { a = "b" }
    `);
    expect(file.type).toBe('csi');
    expect(file.decoded('csi')).toEqual({
      ID: 'db[0]',
      Name: 'db',
      Namespace: '',
      PluginID: 'disks',
      ExternalID: 'vol-1',
      SnapshotID: '',
      CloneID: '',
      RequestedCapacityMin: 10 * 2 ** 30,
      RequestedCapacityMax: 20e9,
      RequestedCapabilities: [
        { AccessMode: 'single-node-writer', AttachmentMode: 'file-system' },
        { AccessMode: 'single-node-reader-only', AttachmentMode: 'file-system' },
      ],
      MountOptions: { FSType: 'ext4', MountFlags: ['noatime'] },
      RequestedTopologies: {
        Required: [{ Segments: { rack: 'R1' } }, { Segments: { 'topology.example/zone': 'z' } }],
        Preferred: null,
      },
      Secrets: { key: 'value' },
      Parameters: { kind: 'fast' },
      Context: { a: 'b' },
    });
  });

  it('a host volume', () => {
    const file = fileOf(`
      type = "host"
      name = "data"
      plugin_id = "mkdir"
      capacity_min = 1000
      constraint {
        attribute = "\${attr.kernel.name}"
        value = "linux"
      }
      parameters = { mode = "0755" }
    `);
    expect(file.decoded('host')).toMatchObject({
      Name: 'data',
      PluginID: 'mkdir',
      RequestedCapacityMinBytes: 1_000,
      RequestedCapacityMaxBytes: 0,
      Constraints: [{ LTarget: '${attr.kernel.name}', RTarget: 'linux', Operand: '=' }],
      Parameters: { mode: '0755' },
    });
  });

  it('everything that is wrong is said', () => {
    const file = fileOf('type = "csi"\ncapacity_min = "many"\nplugin = "disks"\n');
    expect(() => file.decoded('csi')).toThrow('Unsupported argument');
    expect(() => fileOf('type = "csi"\ncapacity_min = "many"').decoded('csi')).toThrow(
      'volume.hcl:2,17-21: Invalid capacity; capacity_min: "many" is not a size such as "10GiB".',
    );
    expect(fileOf('id = "x"').type).toBeUndefined();
    expect(() => fileOf('id = ')).toThrow();
  });
});
