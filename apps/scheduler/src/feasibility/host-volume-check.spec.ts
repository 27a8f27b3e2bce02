import type { Allocation, HostVolume, Node, TaskGroupHostVolumeClaim, VolumeRequest } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { HostVolumeCheck } from './host-volume-check.js';

const VOLUME = fixtures.uuid(0x51);
const SINGLE = 'single-node-single-writer';

const request = (over: Partial<VolumeRequest> = {}): VolumeRequest =>
  fixtures.aVolumeRequest({ Type: 'host', AccessMode: '', AttachmentMode: '', ...over });
const nodeWith = (ID: string, ReadOnly = false): Node =>
  fixtures.aNode({ HostVolumes: { data: { Name: 'data', Path: '/data', ReadOnly, ID } } });
const volumeWith = (over: Partial<HostVolume> = {}): HostVolume => fixtures.aHostVolume({ ID: VOLUME, ...over });
const modes = (...AccessModes: string[]): Partial<HostVolume> => ({
  RequestedCapabilities: AccessModes.map((AccessMode) => ({ AccessMode, AttachmentMode: 'file-system' })),
});
/** An allocation of a job whose group asks for a volume in this way. */
const using = (asked: Partial<VolumeRequest>, over: Partial<Allocation> = {}): Allocation => {
  const Volumes = { data: request(asked) };
  const Job = fixtures.aJob({ ID: 'other', TaskGroups: [fixtures.aGroup({ Volumes })] });
  return fixtures.anAlloc({ Job, ...over });
};

/** The check for group `web` of job `web`. */
function checking(
  volumes: HostVolume[],
  onNode: Record<string, Allocation[]> | Allocation[] = [],
  claims: Partial<TaskGroupHostVolumeClaim>[] = [],
) {
  const { tables } = fixtures.aMachine();
  for (const volume of volumes) tables.host_volumes.replace(`${volume.Namespace}/${volume.ID}`, volume);
  for (const [at, over] of claims.entries())
    tables.task_volume.replace(
      `${at}`,
      fixtures.aTaskVolumeClaim({ ID: `${at}`, AllocID: 'claimer', VolumeID: VOLUME, ...over }),
    );
  const proposed = ({ ID }: Node): Allocation[] => (Array.isArray(onNode) ? onNode : (onNode[ID] ?? []));
  const check = new HostVolumeCheck({ Namespace: 'default', ID: 'web' }, tables, { proposed });
  const may = (node: Node, asked: Partial<VolumeRequest> = {}): boolean => {
    const reason = check.whyNot(node, 'web', [request(asked)], 'web.web[0]');
    if (reason !== undefined) expect(reason).toBe('missing compatible host volumes');
    return reason === undefined;
  };
  return { check, tables, may };
}

describe('the volumes of the agent itself (SC-68, SC-69)', () => {
  it.each([
    ['written', {}, false, true],
    ['written, but read-only', {}, true, false],
    ['read', { ReadOnly: true }, false, true],
    ['read, and read-only', { ReadOnly: true }, true, true],
    ['of another name', { Source: 'other' }, false, false],
    ['sticky', { Sticky: true }, false, false],
    ['sticky and read', { Sticky: true, ReadOnly: true }, false, false],
    ['of each allocation', { PerAlloc: true }, false, false],
  ])('%s', (_, asked, readOnly, expected) => {
    expect(checking([]).may(nodeWith('', readOnly), asked)).toBe(expected);
  });

  it('SC-74: all requests must be met', () => {
    const { check } = checking([]);
    const both = (second: string) =>
      check.whyNot(nodeWith(''), 'web', [request(), request({ Source: second })], 'web.web[0]');
    expect([both('data'), both('other')]).toEqual([undefined, 'missing compatible host volumes']);
  });
});

describe('dynamic volumes (SC-70 to SC-72)', () => {
  it.each<[string, Partial<HostVolume>, boolean]>([
    ['ready', {}, true],
    ['pending', { State: 'pending' }, false],
    ['of another namespace', { Namespace: 'team' }, false],
    ['of another ID', { ID: fixtures.uuid(0x52) }, false],
  ])('%s', (_, over, expected) => {
    expect(checking([volumeWith(over)]).may(nodeWith(VOLUME))).toBe(expected);
  });

  it.each([
    ['a writer', {}, ['single-node-writer'], true],
    ['a reader', { ReadOnly: true }, ['single-node-reader-only'], true],
    ['a writer of what has none', {}, ['single-node-reader-only'], false],
    ['a reader of what has none', { ReadOnly: true }, ['single-node-writer'], false],
    [
      'a named mode, one of two',
      { AccessMode: 'single-node-multi-writer' },
      ['single-node-writer', 'single-node-multi-writer'],
      true,
    ],
    ['another attachment', { AttachmentMode: 'block-device' }, ['single-node-writer'], false],
    ['a reader-only mode, written', { AccessMode: 'single-node-reader-only' }, ['single-node-reader-only'], false],
    ['a writer mode, read', { AccessMode: 'single-node-writer', ReadOnly: true }, ['single-node-writer'], false],
    [
      'many writers, read',
      { AccessMode: 'single-node-multi-writer', ReadOnly: true },
      ['single-node-multi-writer'],
      true,
    ],
  ])('offered for %s', (_, asked, offered, expected) => {
    expect(checking([volumeWith(modes(...offered))]).may(nodeWith(VOLUME), asked)).toBe(expected);
  });

  it('without capabilities it offers nothing', () => {
    expect(checking([volumeWith({ RequestedCapabilities: null })]).may(nodeWith(VOLUME))).toBe(false);
  });

  it('SC-69: reported as read-only it is only read', () => {
    const { may } = checking([volumeWith(modes('single-node-writer', 'single-node-reader-only'))]);
    const node = nodeWith(VOLUME, true);
    expect([may(node), may(node, { ReadOnly: true })]).toEqual([false, true]);
  });

  const deleted = fixtures.anAlloc({ JobID: 'deleted', Job: null });
  it.each<[string, Allocation[], boolean]>([
    ['nobody', [], true],
    ['a reader', [using({ ReadOnly: true })], true],
    ['a writer', [using({})], false],
    ['a writer beside a reader', [using({ ReadOnly: true }), using({})], false],
    ['a writer of another volume', [using({ Source: 'other' })], true],
    ['a writer of a CSI volume of that name', [using({ Type: 'csi' })], true],
    ['a writer in another namespace', [using({}, { Namespace: 'team' })], true],
    ['one whose job was deleted', [deleted], false],
    ['one whose group was deleted', [using({ ReadOnly: true }, { TaskGroup: 'gone' })], false],
  ])('SC-72: a single writer beside %s', (_, onNode, expected) => {
    const { may } = checking([volumeWith(modes(SINGLE))], onNode);
    expect(may(nodeWith(VOLUME), { AccessMode: SINGLE })).toBe(expected);
  });

  it('SC-72: an allocation without its job is one of the stored job', () => {
    const reader = using({ ReadOnly: true });
    const { tables, may } = checking([volumeWith(modes(SINGLE))], [{ ...reader, Job: null }]);
    tables.jobs.replace('default/other', reader.Job!);
    expect(may(nodeWith(VOLUME), { AccessMode: SINGLE })).toBe(true);
  });
});

describe('sticky volumes (SC-73)', () => {
  const OTHER = fixtures.uuid(0x52);
  const claimed = nodeWith(VOLUME);
  const other = nodeWith(OTHER);
  const volumes = [
    volumeWith({ NodeID: claimed.ID }),
    volumeWith({ ID: OTHER, NodeID: other.ID }),
    volumeWith({ ID: OTHER, NodeID: other.ID, Namespace: 'team' }),
  ];
  const own = fixtures.anAlloc({ ID: 'claimer' });
  /** Whether the claimed volume and the other one will do, with one stored allocation that claims. */
  const both = (
    claims: Partial<TaskGroupHostVolumeClaim>[],
    onNode: Record<string, Allocation[]> = {},
    stored = volumes,
  ): [boolean, boolean] => {
    const { tables, may } = checking(stored, onNode, claims);
    tables.allocs.replace(own.ID, own);
    for (const node of [claimed, other]) tables.nodes.replace(node.ID, node);
    return [may(claimed, { Sticky: true }), may(other, { Sticky: true })];
  };

  it.each<[string, Partial<TaskGroupHostVolumeClaim>[], Record<string, Allocation[]>, [boolean, boolean]]>([
    ['no claims: any', [], {}, [true, true]],
    ['an unmet claim: only its volume', [{}], {}, [true, false]],
    ['a claim that is met by an allocation there: any', [{}], { [claimed.ID]: [own] }, [true, true]],
    ['a claim, and an allocation elsewhere', [{}], { [other.ID]: [own] }, [true, false]],
    ['a claim of another group', [{ TaskGroupName: 'beside' }], {}, [true, true]],
    ['a claim of another volume name', [{ VolumeName: 'logs' }], {}, [true, true]],
    ['a claim of another job', [{ JobID: 'other' }], {}, [true, true]],
    ['a claim of an allocation that is gone', [{ AllocID: 'gone' }], {}, [true, true]],
    ['a claim of a volume that is gone', [{ VolumeID: 'gone' }], {}, [true, true]],
    ['two unmet claims: each of their volumes', [{}, { VolumeID: OTHER }], {}, [true, true]],
    ['two claims, one of which is met', [{}, { VolumeID: OTHER }], { [claimed.ID]: [own] }, [false, true]],
    [
      'a claim beside an allocation of another group',
      [{}],
      { [claimed.ID]: [{ ...own, TaskGroup: 'beside' }] },
      [true, false],
    ],
    [
      'a claim beside an allocation of another job',
      [{}],
      { [claimed.ID]: [{ ...own, JobID: 'other' }] },
      [true, false],
    ],
    ['a claim beside one of another namespace', [{}], { [claimed.ID]: [{ ...own, Namespace: 'team' }] }, [true, false]],
    ['a claim beside one of several', [{}], { [claimed.ID]: [{ ...own, JobID: 'other' }, own] }, [true, true]],
  ])('%s', (_, claims, onNode, expected) => {
    expect(both(claims, onNode)).toEqual(expected);
  });

  it('a claim whose node is gone is unmet', () => {
    const lost = [volumeWith({ NodeID: 'gone' }), ...volumes.slice(1)];
    expect(both([{}], {}, lost)).toEqual([true, false]);
  });

  it('are no matter of a request that is not sticky', () => {
    const { tables, may } = checking(volumes, [], [{}]);
    tables.allocs.replace(own.ID, own);
    expect(may(other)).toBe(true);
  });
});
