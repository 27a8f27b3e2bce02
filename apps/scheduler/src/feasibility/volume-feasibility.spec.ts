import type { VolumeRequest } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { hasCsiVolumes, hasPerAllocVolumes, VolumeFeasibility } from './volume-feasibility.js';

const groupWith = (Volumes: Record<string, Partial<VolumeRequest>> | null) =>
  fixtures.aGroup({
    Volumes:
      Volumes &&
      Object.fromEntries(Object.entries(Volumes).map(([name, over]) => [name, fixtures.aVolumeRequest(over)])),
  });

function checking(Volumes: Record<string, Partial<VolumeRequest>> | null) {
  const job = fixtures.aJob({ TaskGroups: [groupWith(Volumes)] });
  return new VolumeFeasibility(job, fixtures.aMachine().tables, { proposed: () => [] });
}

const [host, csi] = [{ Type: 'host' } as const, { Type: 'csi' } as const];

describe('volumes of a group', () => {
  it('SC-73: feasibility depends on other nodes if any host volume is sticky', () => {
    const depends = (volumes: Record<string, Partial<VolumeRequest>> | null, group = 'web') =>
      checking(volumes).dependsOnOtherNodes(group);
    expect(depends({ a: { ...host, Sticky: true }, b: { ...host, Sticky: false } })).toBe(true);
    expect(depends({ a: { ...host, Sticky: false }, b: { ...host, Sticky: true } })).toBe(true);
    expect(depends({ a: { ...host, Sticky: false } })).toBe(false);
    expect(depends({ a: { ...csi, Sticky: true } })).toBe(false);
    expect([depends(null), depends({ a: { ...host, Sticky: true } }, 'another')]).toEqual([false, false]);
  });

  it('SC-67: one volume for each allocation is enough, whatever the others are', () => {
    const has = (...perAlloc: boolean[]) =>
      hasPerAllocVolumes(groupWith(Object.fromEntries(perAlloc.map((PerAlloc, at) => [`v${at}`, { PerAlloc }]))));
    expect([has(true, false), has(false, true), has(false), has()]).toEqual([true, true, false, false]);
    expect(hasPerAllocVolumes({ Volumes: null })).toBe(false);
  });

  it('one CSI volume is enough, whatever the others are', () => {
    expect(hasCsiVolumes(groupWith({ a: host, b: csi }))).toBe(true);
    expect(hasCsiVolumes(groupWith({ a: csi, b: host }))).toBe(true);
    expect([hasCsiVolumes(groupWith({ a: host })), hasCsiVolumes({ Volumes: null })]).toEqual([false, false]);
  });

  it('SC-74, SC-75: host volumes are checked before CSI volumes, and only the missing CSI volumes are waited for', () => {
    const node = fixtures.aNode();
    const both = checking({ a: { ...csi, Source: 'disk' }, b: { ...host, Source: 'dir' } });
    expect(both.whyNot(node, 'web', 'web.web[0]')).toBe('missing compatible host volumes');
    expect(both.missingResources('web')).toEqual([]);
    const onlyCsi = checking({ a: { ...csi, Source: 'disk' } });
    expect(onlyCsi.whyNot(node, 'web', 'web.web[0]')).toBe('missing CSI volume(s) disk');
    expect(onlyCsi.missingResources('web')).toEqual(['csi-volume:default:disk']);
    expect([checking(null).whyNot(node, 'web', 'n'), onlyCsi.whyNot(node, 'another', 'n')]).toEqual([
      undefined,
      undefined,
    ]);
  });
});
