import { type Allocation, CLAIM_MODE, CLAIM_STATE, type CSIVolume, type CSIVolumeClaim, Refusal } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { releaseClaim, takeClaim, withEndedClaims } from './csi-claims.js';
import { fixtures } from '../fixtures.js';

const { aCSIClaim, aCSIPlugin, aCSIVolume, anAlloc, uuid } = fixtures;
const [A, B] = [uuid(1), uuid(2)] as const;
const PLUGIN = aCSIPlugin();

const read = (id: string, over: Partial<CSIVolumeClaim> = {}) =>
  aCSIClaim({ AllocationID: id, Mode: CLAIM_MODE.read, AccessMode: 'multi-node-reader-only', ...over });
const write = (id: string, over: Partial<CSIVolumeClaim> = {}) => aCSIClaim({ AllocationID: id, ...over });
const byId = (...claims: CSIVolumeClaim[]) => Object.fromEntries(claims.map((claim) => [claim.AllocationID, claim]));

/** A volume whose claims are these, in this mode. */
const claimed = (AccessMode: string, over: Partial<CSIVolume> = {}) =>
  aCSIVolume({ AccessMode, AttachmentMode: 'file-system', ...over });
const take = (volume: CSIVolume, claim: CSIVolumeClaim, plugin: typeof PLUGIN | undefined = PLUGIN) =>
  takeClaim(volume, claim, anAlloc({ ID: claim.AllocationID }), plugin);
const refusal = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
  return 'accepted';
};
const holders = ({ ReadClaims, WriteClaims, PastClaims }: CSIVolume) => ({
  read: Object.keys(ReadClaims),
  write: Object.keys(WriteClaims),
  past: Object.keys(PastClaims),
});

describe('taking a claim', () => {
  it('VL-73: a read claim drops the write and past claims of its allocation', () => {
    const volume = claimed('multi-node-multi-writer', {
      WriteClaims: byId(write(A), write(B)),
      PastClaims: byId(write(A, { State: CLAIM_STATE.unpublishing })),
    });
    expect(holders(take(volume, read(A)))).toEqual({ read: [A], write: [B], past: [] });
  });

  it('VL-74: a write claim drops the read and past claims of its allocation', () => {
    const volume = claimed('multi-node-multi-writer', {
      ReadClaims: byId(read(A), read(B)),
      PastClaims: byId(read(A, { State: CLAIM_STATE.nodeDetached })),
    });
    expect(holders(take(volume, write(A)))).toEqual({ read: [B], write: [A], past: [] });
  });

  it.each([
    ['its plugin is gone', undefined, anAlloc({ ID: A })],
    ['its allocation is gone', PLUGIN, undefined],
  ])('VL-75: repeating a claim changes nothing, also when %s', (_, plugin, alloc) => {
    const volume = claimed('single-node-writer', {
      WriteClaims: byId(write(A)),
      PastClaims: byId(write(A, { State: CLAIM_STATE.unpublishing })),
    });
    expect(takeClaim(volume, write(A), alloc, plugin)).toBe(volume);
  });

  it('VL-76: a claim of an unknown allocation is refused', () => {
    expect(refusal(() => takeClaim(aCSIVolume(), write(A), undefined, PLUGIN))).toBe(`allocation missing: ${A}`);
  });

  const NO_NODES = aCSIPlugin({ NodesHealthy: 0 });
  const NO_CONTROLLER = aCSIPlugin({ ControllerRequired: true });
  it.each([
    ['there is no plugin', aCSIVolume(), undefined, read(A)],
    ['no node plugin is healthy', aCSIVolume(), NO_NODES, read(A)],
    ['no controller is healthy where one is needed', aCSIVolume(), NO_CONTROLLER, read(A)],
    ['it is exhausted', aCSIVolume({ ResourceExhausted: '2026-01-01T00:00:00Z' }), PLUGIN, read(A)],
    ['its mode has no writers', claimed('multi-node-reader-only'), PLUGIN, write(A)],
    [
      'none of its capabilities has a writer',
      aCSIVolume({ RequestedCapabilities: [{ AccessMode: 'multi-node-reader-only', AttachmentMode: 'file-system' }] }),
      PLUGIN,
      write(A),
    ],
  ])('VL-77, VL-79: unschedulable when %s', (_, volume, plugin, claim) => {
    expect(refusal(() => takeClaim(volume, claim, anAlloc({ ID: A }), plugin))).toBe(
      `alloc "${A}" failed to claim volume "data": volume is currently unschedulable`,
    );
  });

  const READER = { ReadClaims: byId(read(B)) };
  const WRITER = { WriteClaims: byId(write(B)) };
  it.each([
    ['VL-80', 'single-node-reader-only', {}, read(A), true],
    ['VL-80', 'single-node-reader-only', READER, read(A), false],
    ['VL-80', 'single-node-writer', READER, read(A), false],
    ['VL-80', 'single-node-writer', WRITER, read(A), false],
    ['VL-80', 'multi-node-reader-only', READER, read(A), true],
    ['VL-80', 'multi-node-single-writer', { ...READER, ...WRITER }, read(A), true],
    ['VL-80', 'multi-node-multi-writer', { ...READER, ...WRITER }, read(A), true],
    ['VL-81', 'single-node-writer', WRITER, write(A), false],
    ['VL-81', 'multi-node-single-writer', {}, write(A), true],
    ['VL-81', 'multi-node-single-writer', WRITER, write(A), false],
    ['VL-81', 'multi-node-multi-writer', WRITER, write(A), true],
    ['VL-82', 'single-node-writer', READER, write(A), true],
  ])('VL-78, %s: %s with %j lets a claim in: mode %o → %s', (_, mode, claims, claim, isFree) => {
    const said = refusal(() => take(claimed(mode, claims), claim));
    expect(said).toBe(isFree ? 'accepted' : `alloc "${A}" failed to claim volume "data": volume max claims reached`);
  });

  it('VL-83: a claim that is on its way out still counts', () => {
    const past = byId(write(B, { State: CLAIM_STATE.unpublishing }));
    const volume = claimed('single-node-writer', { WriteClaims: byId(write(B)), PastClaims: past });
    expect(refusal(() => take(volume, write(A)))).toContain('volume max claims reached');
  });

  it('VL-226: a full volume and an unschedulable one are refused with different codes', () => {
    const codeOf = (work: () => unknown): string | undefined => {
      try {
        work();
      } catch (error) {
        return (error as Refusal).code;
      }
      return undefined;
    };
    const full = claimed('single-node-writer', WRITER);
    expect(codeOf(() => take(full, write(A)))).toBe('full');
    expect(codeOf(() => takeClaim(full, write(A), anAlloc({ ID: A }), undefined))).toBe('conflict');
  });

  it('VL-84: the first claim sets the modes, a later one does not change them', () => {
    const first = take(aCSIVolume(), write(A, { AccessMode: 'multi-node-multi-writer' }));
    expect(first).toMatchObject({ AccessMode: 'multi-node-multi-writer', AttachmentMode: 'file-system' });
    expect(take(first, write(B))).toMatchObject({ AccessMode: 'multi-node-multi-writer' });
  });

  it('VL-86: a volume that is read in a reader mode takes a writer only after the last reader', () => {
    const modes = ['multi-node-single-writer', 'multi-node-reader-only'];
    const volume = aCSIVolume({
      RequestedCapabilities: modes.map((AccessMode) => ({ AccessMode, AttachmentMode: 'file-system' })),
    });
    const claim = write(B, { AccessMode: 'multi-node-single-writer' });
    const reading = take(volume, read(A));
    expect(refusal(() => take(reading, claim))).toContain('volume is currently unschedulable');
    const free = releaseClaim(reading, read(A, { State: CLAIM_STATE.readyToFree }));
    expect(holders(take(free, claim))).toEqual({ read: [], write: [B], past: [] });
  });

  it('VL-87: the attachment mode stays while the volume is claimed', () => {
    const volume = claimed('multi-node-multi-writer', { WriteClaims: byId(write(A)) });
    const error = 'cannot change attachment mode of claimed volume';
    for (const id of [A, B])
      expect(refusal(() => take(volume, write(id, { AttachmentMode: 'block-device' })))).toBe(error);
    expect(refusal(() => take(volume, write(B, { AttachmentMode: '' })))).toBe('accepted');
  });

  it('VL-88: the access mode is not compared with the capabilities', () => {
    const claim = write(A, { AccessMode: 'multi-node-multi-writer' });
    expect(holders(take(aCSIVolume(), claim)).write).toEqual([A]);
  });
});

describe('giving a claim back', () => {
  const volume = claimed('multi-node-multi-writer', { WriteClaims: byId(write(A), write(B)) });
  const step = (State: CSIVolumeClaim['State'], over: Partial<CSIVolumeClaim> = {}) => write(A, { State, ...over });

  it('VL-89: a step is a past claim that replaces the one before; the last takes the allocation out of all maps', () => {
    const unpublishing = releaseClaim(volume, step(CLAIM_STATE.unpublishing));
    expect(holders(unpublishing)).toEqual({ read: [], write: [A, B], past: [A] });
    const detached = releaseClaim(unpublishing, step(CLAIM_STATE.nodeDetached));
    expect(detached.PastClaims[A]?.State).toBe(CLAIM_STATE.nodeDetached);
    const freed = releaseClaim(detached, step(CLAIM_STATE.readyToFree));
    expect(holders(freed)).toEqual({ read: [], write: [B], past: [] });
  });

  it('VL-85: the last one takes the modes away, and leaves the capabilities', () => {
    const one = releaseClaim(volume, step(CLAIM_STATE.readyToFree));
    expect(one.AccessMode).toBe('multi-node-multi-writer');
    const none = releaseClaim(one, write(B, { State: CLAIM_STATE.readyToFree }));
    expect(none).toMatchObject({
      AccessMode: '',
      AttachmentMode: '',
      RequestedCapabilities: volume.RequestedCapabilities,
    });
  });

  it('VL-92: a step that does not know modes or external node keeps those known', () => {
    const blank = { AccessMode: '', AttachmentMode: '', ExternalNodeID: '' };
    const first = releaseClaim(volume, step(CLAIM_STATE.unpublishing, blank));
    const known = { AccessMode: 'single-node-writer', AttachmentMode: 'file-system', ExternalNodeID: 'machine-1' };
    expect(first.PastClaims[A]).toMatchObject(known);
    expect(releaseClaim(first, step(CLAIM_STATE.nodeDetached, blank)).PastClaims[A]).toMatchObject(known);
  });

  it('VL-92: of a claim that nobody knows they are empty', () => {
    const blank = { AccessMode: '', AttachmentMode: '', ExternalNodeID: '', NodeID: '' };
    const step9 = step(CLAIM_STATE.unpublishing, { ...blank, AllocationID: uuid(9) });
    expect(releaseClaim(volume, step9).PastClaims[uuid(9)]).toMatchObject(blank);
  });

  it('VL-105: a step in state taken is a step out, never a claim', () => {
    const late = releaseClaim(aCSIVolume(), step(CLAIM_STATE.taken));
    expect(holders(late)).toEqual({ read: [], write: [], past: [A] });
    expect(late.PastClaims[A]?.State).toBe(CLAIM_STATE.unpublishing);
  });

  it('VL-123, VL-124: freeing what is not there, or a step already made, leaves the very same volume', () => {
    const free = step(CLAIM_STATE.readyToFree, { AllocationID: uuid(9) });
    expect(releaseClaim(volume, free)).toBe(volume);
    const detached = releaseClaim(volume, step(CLAIM_STATE.nodeDetached));
    expect(releaseClaim(detached, step(CLAIM_STATE.nodeDetached))).toBe(detached);
  });
});

describe('claims of ended allocations', () => {
  const volume = claimed('multi-node-multi-writer', { ReadClaims: byId(read(A)), WriteClaims: byId(write(B)) });
  const past = (allocs: Partial<Record<string, Partial<Allocation>>>, of = volume) =>
    withEndedClaims(of, (id) => (allocs[id] ? anAlloc(allocs[id]) : undefined));

  it.each([
    ['is gone', undefined, true],
    ['is complete', { ClientStatus: 'complete' as const }, true],
    ['failed', { ClientStatus: 'failed' as const }, true],
    ['is lost', { ClientStatus: 'lost' as const }, true],
    ['runs', { ClientStatus: 'running' as const }, false],
    ['is out of sight', { ClientStatus: 'unknown' as const }, false],
  ])('VL-68: an allocation that %s', (_, alloc, isEnded) => {
    const seen = past({ [A]: alloc, [B]: { ClientStatus: 'running' } });
    expect(holders(seen)).toEqual({ read: [A], write: [B], past: isEnded ? [A] : [] });
    if (isEnded) expect(seen.PastClaims[A]).toEqual(read(A, { State: CLAIM_STATE.unpublishing }));
    else expect(seen).toBe(volume);
  });

  it('VL-69: one that is told to stop and still runs keeps its claim', () => {
    const stopping = { DesiredStatus: 'stop' as const, ClientStatus: 'running' as const };
    expect(past({ [A]: stopping, [B]: stopping })).toBe(volume);
  });

  it('VL-68: a past claim that is there already stays as far as it has come', () => {
    const detached = { ...volume, PastClaims: byId(read(A, { State: CLAIM_STATE.nodeDetached })) };
    expect(past({ [B]: { ClientStatus: 'running' } }, detached).PastClaims[A]?.State).toBe(CLAIM_STATE.nodeDetached);
  });
});
