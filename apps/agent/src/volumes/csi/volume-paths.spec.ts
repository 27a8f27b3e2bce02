import { describe, expect, it } from 'vitest';
import { UnsafeNameError } from '../../paths/path-name.js';
import { pluginDirectories, stagingPath, targetPath, usageMode } from './volume-paths.js';

const USAGE = { ReadOnly: false, AttachmentMode: 'file-system', AccessMode: 'single-node-writer' };
const used = (namespace: string, volumeId: string) => ({ namespace, volumeId, usage: USAGE });
const PLUGIN = { ID: 'disks', Type: 'node', MountDir: '', StagePublishBaseDir: '', HealthTimeout: 0 };

describe('where volumes are mounted', () => {
  it('VL-235: a usage mode tells read-only, attachment and access', () => {
    expect(usageMode(USAGE)).toBe('rw-file-system-single-node-writer');
    const block = { ReadOnly: true, AttachmentMode: 'block-device', AccessMode: 'multi-node-reader-only' };
    expect(usageMode(block)).toBe('ro-block-device-multi-node-reader-only');
  });

  it('VL-236: two namespaces do not share a staged volume, two allocations no target', () => {
    expect(stagingPath(used('a', 'db'))).toBe('staging/a/db/rw-file-system-single-node-writer');
    expect(stagingPath(used('b', 'db'))).not.toBe(stagingPath(used('a', 'db')));
    expect(targetPath(used('a', 'db[0]'), 'x')).toBe('per-alloc/x/db[0]/rw-file-system-single-node-writer');
  });

  it('VL-204, VL-206: a plugin has a root of its own, each of its allocations a socket', () => {
    expect(pluginDirectories('/d', PLUGIN, 'x')).toEqual({ mountRoot: '/d/node/disks', socketDir: '/d/plugins/x' });
    expect(pluginDirectories('/d', PLUGIN, 'y').socketDir).toBe('/d/plugins/y');
  });

  it.each(['..', '.', '', '../../etc', 'a/../../b', 'a//b', '/etc', 'a\0b'])(
    'VL-307: %j is part of no path',
    (name) => {
      expect(() => stagingPath(used(name, 'db'))).toThrow(UnsafeNameError);
      expect(() => stagingPath(used('a', name))).toThrow(UnsafeNameError);
      expect(() => targetPath(used('a', name), 'x')).toThrow(UnsafeNameError);
      expect(() => pluginDirectories('/d', { ...PLUGIN, ID: name }, 'x')).toThrow(UnsafeNameError);
    },
  );
});
