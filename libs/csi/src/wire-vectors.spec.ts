import { describe, expect, it } from 'vitest';
import { attachRequest, createVolumeRequest, detachRequest } from './controller-requests.js';
import { publishRequest } from './node-requests.js';
import { csiMethod, type CsiService } from './schema.js';

const MULTI = { attachmentMode: 'block-device', accessMode: 'multi-node-multi-writer' };
const EXT4 = { attachmentMode: 'file-system', accessMode: 'single-node-writer', fsType: 'ext4' };

const sent = (service: CsiService, method: string, request: object): string =>
  csiMethod(service, method).requestSerialize(request).toString('hex');
const answered = (service: CsiService, method: string, hex: string): object =>
  csiMethod(service, method).responseDeserialize(Buffer.from(hex, 'hex'));

describe('requests on the wire', () => {
  it('CW-27: the vectors of section 10, byte for byte', () => {
    const publish = publishRequest({ volumeId: 'v', stagingPath: '', targetPath: '/t', use: EXT4, readonly: true });
    expect(sent('Node', 'NodePublishVolume', publish)).toBe('0a017622022f742a0c12060a04657874341a0208013001');
    const detach = detachRequest({ volumeId: 'v', nodeId: 'n', secrets: { k: 's' } });
    expect(sent('Controller', 'ControllerUnpublishVolume', detach)).toBe('0a017612016e1a060a016b120173');
  });

  it('VL-36: a create says what it requires of the topology also when that is nothing', () => {
    const create = createVolumeRequest({ name: 'n', capacity: { requiredBytes: 1024n }, uses: [MULTI], cloneId: 's' });
    expect(sent('Controller', 'CreateVolume', create)).toBe('0a016e12030880081a060a001a020805320512030a01733a00');
    const without = { ...create, accessibility_requirements: null };
    expect(sent('Controller', 'CreateVolume', without)).toBe('0a016e12030880081a060a001a020805320512030a0173');
  });

  it('CW-6, VL-255: what is false or zero is not on the wire, what is true is', () => {
    const attach = { volumeId: 'v', nodeId: 'n', readonly: false, use: { ...MULTI } };
    const path = '0a017612016e1a060a001a020805';
    expect(sent('Controller', 'ControllerPublishVolume', attachRequest(attach))).toBe(path);
    const readonly = attachRequest({ ...attach, readonly: true });
    expect(sent('Controller', 'ControllerPublishVolume', readonly)).toBe(`${path}2001`);
  });

  it('CW-8: bytes beyond 2^53 are exact', () => {
    const create = createVolumeRequest({ name: 'n', capacity: { requiredBytes: 2n ** 53n + 1n }, uses: [MULTI] });
    expect(create.capacity_range?.required_bytes).toBe('9007199254740993');
    const hex = sent('Controller', 'CreateVolume', create);
    expect(hex.startsWith('0a016e1209088180808080808010')).toBe(true);
  });
});

describe('answers from the wire', () => {
  it.each([
    ['Identity', 'Probe', '', { ready: null }],
    ['Identity', 'Probe', '0a00', { ready: { value: false } }],
    ['Identity', 'Probe', '0a020800', { ready: { value: false } }],
    ['Identity', 'Probe', '0a020801', { ready: { value: true } }],
    [
      'Node',
      'NodeGetInfo',
      '0a026e3110081a080a060a017a120131',
      { node_id: 'n1', max_volumes_per_node: '8', accessible_topology: { segments: { z: '1' } } },
    ],
  ] as const)('CW-26: %s %s %s', (service, method, hex, expected) => {
    expect(answered(service, method, hex)).toEqual(expected);
  });

  it.each(['0a0e1201701a01762204080110002801', '0a0c1201701a0176220208012801'])('CW-26: a snapshot, %s', (hex) => {
    expect(answered('Controller', 'CreateSnapshot', hex)).toMatchObject({
      snapshot: {
        snapshot_id: 'p',
        source_volume_id: 'v',
        creation_time: { seconds: '1', nanos: 0 },
        ready_to_use: true,
        size_bytes: '0',
      },
    });
  });

  it('CW-26: a volume; what it lacks is null or empty', () => {
    expect(answered('Controller', 'CreateVolume', '0a0e0880081201761a060a0161120162')).toMatchObject({
      volume: {
        capacity_bytes: '1024',
        volume_id: 'v',
        volume_context: { a: 'b' },
        content_source: null,
        accessible_topology: [],
      },
    });
  });

  it('CW-7: fields and numbers of a newer interface are no error', () => {
    // capability 99, an entry without its type, and a field 15 that nobody knows
    const answer = answered('Controller', 'ControllerGetCapabilities', '0a040a0208630a000a040a0208027a0161');
    expect(answer).toEqual({
      capabilities: [
        { rpc: { type: 99 }, type: 'rpc' },
        {},
        { rpc: { type: 'PUBLISH_UNPUBLISH_VOLUME' }, type: 'rpc' },
      ],
    });
  });
});
