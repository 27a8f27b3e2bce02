import { CLAIM_MODE, CLAIM_STATE, type CSIVolumeClaim, type CSIVolumeRegistration } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { archiveLines, readArchive } from '../archive/state-archive.js';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import { objectChanges } from '../machine/object-changes.js';

const { aClientUpdate, aCSIClaim, aMachine, anAlloc, aNode, aNodePlugin, aPlanResult, aRegisteredJob } = fixtures;
const { apply, aVolumeRegistration, timeNs, uuid } = fixtures;

const NODE = uuid(7);
const [A, B] = [uuid(1), uuid(2)] as const;

/** A machine with a healthy node plugin, and two allocations of one job on its node. */
function cluster() {
  const machine = aMachine();
  const Node = aNode({ ID: NODE, CSINodePlugins: { disks: aNodePlugin() } });
  apply(machine, 'NodeRegister', { Node, CreateNodePool: false });
  const { job, evaluation } = aRegisteredJob(machine);
  const AllocsUpdated = [A, B].map((ID) => anAlloc({ ID, NodeID: NODE, Job: job }));
  apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated, EvalID: evaluation.ID }));
  const register = (...over: Partial<CSIVolumeRegistration>[]) =>
    apply(machine, 'CSIVolumeRegister', { Volumes: over.map((one) => aVolumeRegistration(one)) });
  const claim = (over: Partial<CSIVolumeClaim>, VolumeID = 'data') =>
    apply(
      machine,
      'CSIVolumeClaim',
      { VolumeID, Claim: aCSIClaim({ NodeID: NODE, AllocationID: A, ...over }) },
      { namespace: 'default', timeNs: timeNs + machine.appliedIndex * 1e6 },
    );
  const deregister = (VolumeIDs: string[], Force = false) =>
    apply(machine, 'CSIVolumeDeregister', { VolumeIDs, Force }, { namespace: 'default' });
  const end = (ID: string) =>
    apply(machine, 'AllocClientUpdate', {
      Allocs: [aClientUpdate({ ID, NodeID: NODE }, { ClientStatus: 'complete' })],
      Evals: [],
    });
  const stored = (id = 'data') => machine.tables.csi_volumes.get(`default/${id}`);
  return { machine, register, claim, deregister, end, stored };
}

describe('registering volumes', () => {
  it('VL-17, VL-23: a new one is stored as it is given, the same again keeps where it began', () => {
    const { register, stored } = cluster();
    const first = register({ Context: { kind: 'dir' }, Capacity: 5 });
    expect(stored()).toMatchObject({
      Context: { kind: 'dir' },
      Capacity: 5,
      ReadClaims: {},
      CreateIndex: first.index,
      ModifyIndex: first.index,
    });
    const second = register({ Context: { kind: 'dir' }, Capacity: 5 });
    expect(second.verdict).toEqual({ kind: 'accepted' });
    expect(stored()).toMatchObject({ CreateIndex: first.index, ModifyIndex: second.index });
  });

  it('VL-7: the first write sets CreateTime, every write ModifyTime', () => {
    const { register, claim, stored } = cluster();
    register({});
    expect(stored()).toMatchObject({ CreateTime: timeNs, ModifyTime: timeNs });
    claim({});
    expect(stored()?.CreateTime).toBe(timeNs);
    expect(stored()?.ModifyTime).toBeGreaterThan(timeNs);
  });

  it('VL-12: the namespace must exist, and then nothing of the request is stored', () => {
    const { register, stored } = cluster();
    const { verdict } = register({}, { ID: 'other', Namespace: 'gone' });
    expect(verdict).toEqual({
      kind: 'refused',
      code: 'invalid',
      error: 'volume other is in nonexistent namespace gone',
    });
    expect(stored()).toBeUndefined();
  });

  it('VL-18: where it can be reached is what was required, unless somebody knows better', () => {
    const { register, stored } = cluster();
    const required = [{ Segments: { rack: 'R1' } }];
    const RequestedTopologies = { Required: required, Preferred: null };
    register({ RequestedTopologies }, { ID: 'known', RequestedTopologies, Topologies: [{ Segments: { rack: 'R2' } }] });
    expect(stored()?.Topologies).toEqual(required);
    expect(stored('known')?.Topologies).toEqual([{ Segments: { rack: 'R2' } }]);
  });

  it.each([{ ExternalID: 'disk-2' }, { PluginID: 'others' }, { Provider: 'else.example' }])(
    'VL-24: the identity stays: %j',
    (changed) => {
      const { register } = cluster();
      register({});
      expect(register(changed).verdict).toEqual({
        kind: 'refused',
        code: 'invalid',
        error: 'volume identity cannot be updated: data',
      });
    },
  );

  it('API-221, VL-300: a claim that came between look and write is kept, and what it rules out is refused', () => {
    const { register, claim, stored } = cluster();
    register({});
    claim({});
    const capabilities = { RequestedCapabilities: [{ AccessMode: 'multi-node-multi-writer', AttachmentMode: 'x' }] };
    expect(register(capabilities).verdict).toEqual({
      kind: 'refused',
      code: 'invalid',
      error:
        'unable to update volume: 1 error occurred:\n\t* volume requested capabilities update was not compatible with existing capability in use\n\n',
    });
    register({ Secrets: { key: 'new' } });
    expect(stored()).toMatchObject({ Secrets: { key: 'new' }, AccessMode: 'single-node-writer' });
    expect(Object.keys(stored()?.WriteClaims ?? {})).toEqual([A]);
  });
});

describe('claims', () => {
  it('VL-91: an unknown volume is refused', () => {
    expect(cluster().claim({}, 'nowhere').verdict).toEqual({
      kind: 'refused',
      code: 'not-found',
      error: 'volume not found: nowhere',
    });
  });

  it('VL-300: of two writers on a single-writer volume one is accepted', () => {
    const { register, claim, stored } = cluster();
    register({});
    const verdicts = [claim({ AllocationID: A }), claim({ AllocationID: B })].map(({ verdict }) => verdict);
    expect(verdicts).toEqual([
      { kind: 'accepted' },
      {
        kind: 'refused',
        code: 'full',
        error: `alloc "${B}" failed to claim volume "data": volume max claims reached`,
      },
    ]);
    expect(Object.keys(stored()?.WriteClaims ?? {})).toEqual([A]);
  });

  it('VL-75, VL-123: a claim repeated and a claim freed twice change nothing', () => {
    const { register, claim } = cluster();
    register({});
    claim({});
    expect(claim({}).verdict.kind).toBe('noop');
    claim({ State: CLAIM_STATE.readyToFree });
    expect(claim({ State: CLAIM_STATE.readyToFree }).verdict.kind).toBe('noop');
  });

  it('VL-90: a claim without allocation changes no claim, and moves the indexes of volume and table', () => {
    const { machine, register, claim, stored } = cluster();
    register({});
    claim({});
    const before = stored();
    const wake = { AllocationID: '', Mode: CLAIM_MODE.gc, State: CLAIM_STATE.unpublishing };
    const { index } = claim(wake);
    expect(machine.tables.csi_volumes.tableIndex).toBe(index);
    const again = claim(wake);
    expect(machine.tables.csi_volumes.tableIndex).toBe(again.index);
    expect(stored()).toEqual({ ...before, ModifyIndex: again.index, ModifyTime: again.txn.timeNs });
  });

  it('VL-70, ND-118: any write stores the past claims of ended allocations, and leaves live ones', () => {
    const { register, claim, end, stored } = cluster();
    const AccessMode = 'multi-node-multi-writer';
    register({ RequestedCapabilities: [{ AccessMode, AttachmentMode: 'file-system' }] });
    claim({ AllocationID: A, AccessMode });
    claim({ AllocationID: B, AccessMode });
    end(A);
    expect(stored()).toMatchObject({ PastClaims: {}, WriteClaims: { [A]: {}, [B]: {} } });
    claim({ AllocationID: '', Mode: CLAIM_MODE.gc, State: CLAIM_STATE.unpublishing });
    expect(stored()).toMatchObject({
      PastClaims: { [A]: { State: CLAIM_STATE.unpublishing, AccessMode } },
      WriteClaims: { [A]: {}, [B]: {} },
    });
    expect(Object.keys(stored()?.PastClaims ?? {})).toEqual([A]);
  });

  describe('of one allocation, one after the other', () => {
    const again = { kind: 'refused', code: 'conflict', error: `alloc "${A}" has claimed volume "data" again` };
    const step = ({ machine }: ReturnType<typeof cluster>, State: CSIVolumeClaim['State'], AsOf: number) =>
      apply(
        machine,
        'CSIVolumeClaim',
        { VolumeID: 'data', Claim: aCSIClaim({ NodeID: NODE, AllocationID: A, State }), AsOf },
        { namespace: 'default' },
      );

    it('VL-308: a release that began before the volume was claimed again is refused, one that began later is not', () => {
      const all = cluster();
      all.register({});
      const began = step(all, CLAIM_STATE.taken, all.machine.appliedIndex).index;
      expect(step(all, CLAIM_STATE.readyToFree, began).verdict.kind).toBe('accepted');
      const retaken = step(all, CLAIM_STATE.taken, began).index;
      for (const state of [CLAIM_STATE.unpublishing, CLAIM_STATE.nodeDetached, CLAIM_STATE.readyToFree])
        expect(step(all, state, began).verdict).toEqual(again);
      expect(all.stored()).toMatchObject({ WriteClaims: { [A]: { TakenIndex: retaken } }, PastClaims: {} });
      expect(step(all, CLAIM_STATE.readyToFree, retaken).verdict.kind).toBe('accepted');
      expect(step(all, CLAIM_STATE.readyToFree, began).verdict.kind).toBe('noop');
    });

    it('VL-308, OP-46: a release that began before a restore leaves the claim that it brought back', () => {
      const all = cluster();
      all.register({});
      const began = step(all, CLAIM_STATE.taken, all.machine.appliedIndex).index;
      const archive = [...archiveLines(all.machine.tables)];
      step(all, CLAIM_STATE.nodeDetached, began);
      const restored = apply(all.machine, 'StateRestore', {
        Archive: 'a',
        SHA256: '',
        Bytes: 0,
        Index: began,
        Tables: readArchive(archive),
      });
      expect(step(all, CLAIM_STATE.readyToFree, began).verdict).toEqual(again);
      expect(step(all, CLAIM_STATE.readyToFree, restored.index).verdict.kind).toBe('accepted');
    });

    it('VL-308: who asks after a restore for the claim that it brought back has it anew; asked again, nothing changes', () => {
      const all = cluster();
      all.register({});
      const taken = step(all, CLAIM_STATE.taken, all.machine.appliedIndex).index;
      const archive = { Archive: 'a', SHA256: '', Bytes: 0, Index: taken };
      const Tables = readArchive(archiveLines(all.machine.tables));
      const began = apply(all.machine, 'StateRestore', { ...archive, Tables }).index;
      step(all, CLAIM_STATE.nodeDetached, began);
      const retaken = step(all, CLAIM_STATE.taken, began).index;
      expect(all.stored()).toMatchObject({ WriteClaims: { [A]: { TakenIndex: retaken } }, PastClaims: {} });
      expect(step(all, CLAIM_STATE.readyToFree, began).verdict).toEqual(again);
      expect(step(all, CLAIM_STATE.taken, retaken).verdict.kind).toBe('noop');
    });

    it('VL-68, VL-308: the past claim of an ended one does not say when it was taken', () => {
      const all = cluster();
      all.register({});
      step(all, CLAIM_STATE.taken, all.machine.appliedIndex);
      all.end(A);
      all.claim({ AllocationID: '', Mode: CLAIM_MODE.gc, State: CLAIM_STATE.unpublishing });
      expect(all.stored()?.PastClaims[A]).toMatchObject({ State: CLAIM_STATE.unpublishing });
      expect(all.stored()?.PastClaims[A]).not.toHaveProperty('TakenIndex');
    });
  });

  it('type 39: a batch is taken whole or not at all', () => {
    const { machine, register, stored } = cluster();
    register({});
    const Claim = aCSIClaim({ AllocationID: '', Mode: CLAIM_MODE.gc, State: CLAIM_STATE.unpublishing });
    const batch = (...ids: string[]) =>
      apply(machine, 'CSIVolumeClaimBatch', {
        Claims: ids.map((VolumeID) => ({ Namespace: 'default', VolumeID, Claim })),
      });
    const before = stored();
    expect(batch('data', 'gone').verdict).toEqual({
      kind: 'refused',
      code: 'not-found',
      error: 'volume not found: gone',
    });
    expect(stored()).toEqual(before);
    expect(batch('data').verdict.kind).toBe('accepted');
  });
});

describe('deregistering volumes', () => {
  it('VL-52, VL-56: an unknown volume is refused, and with it the others of the request', () => {
    const { register, deregister, stored } = cluster();
    register({}, { ID: 'datum' });
    expect(deregister(['data', 'dat']).verdict).toEqual({
      kind: 'refused',
      code: 'not-found',
      error: 'volume not found: dat',
    });
    expect(stored()).toBeDefined();
    expect(deregister(['data', 'datum']).verdict.kind).toBe('accepted');
    expect(stored()).toBeUndefined();
  });

  it('VL-54, VL-55, VL-72: a claimed volume stays, by force only while a claiming allocation lives', () => {
    const { register, claim, deregister, end, stored } = cluster();
    register({});
    claim({});
    const inUse = { kind: 'refused', code: 'conflict', error: 'volume in use: data' };
    expect(deregister(['data']).verdict).toEqual(inUse);
    expect(deregister(['data'], true).verdict).toEqual(inUse);
    end(A);
    expect(deregister(['data']).verdict).toEqual(inUse);
    expect(deregister(['data'], true).verdict.kind).toBe('accepted');
    expect(stored()).toBeUndefined();
  });

  it('VL-62, OP-180: a namespace with a volume cannot be deleted', () => {
    const { machine, register, deregister } = cluster();
    apply(machine, 'NamespaceUpsert', { Namespaces: [fixtures.aNamespace({ Name: 'team' })] });
    register({ Namespace: 'team' });
    const remove = () => apply(machine, 'NamespaceDelete', { Names: ['team'] }).verdict;
    expect(remove().error).toContain('namespace "team" has volumes associated with it in regions: [global]');
    apply(machine, 'CSIVolumeDeregister', { VolumeIDs: ['data'], Force: false }, { namespace: 'team' });
    expect(deregister(['data']).verdict.kind).toBe('refused');
    expect(remove().kind).toBe('accepted');
  });
});

describe('what is said of volumes', () => {
  const SECRET = 'correct-horse';
  const said = { Secrets: { key: SECRET }, MountOptions: { FSType: 'ext4', MountFlags: [`password=${SECRET}`] } };

  it('API-405, API-21, VL-275, EV-52: events name the change and show neither secrets, flags nor claims', () => {
    const { register, claim, deregister } = cluster();
    const changes = [register(said), claim({}), claim({ State: CLAIM_STATE.readyToFree }), deregister(['data'])];
    const events = changes.map((applied) => eventsOf(applied)?.Events ?? []).flat();
    expect(events.map(({ Type }) => Type)).toEqual([
      'CSIVolumeRegistered',
      'CSIVolumeClaim',
      'CSIVolumeClaim',
      'CSIVolumeDeregistered',
    ]);
    for (const event of events) {
      expect(event).toMatchObject({ Topic: 'CSIVolume', Key: 'data', Namespace: 'default' });
      expect(event.FilterKeys).toEqual(['data', 'data', 'disks']);
      expect(JSON.stringify(event)).not.toContain(SECRET);
      const { Volume } = event.Payload as { Volume: Record<string, unknown> };
      expect(Volume).toMatchObject({ Secrets: null, Allocations: [], MountOptions: { MountFlags: ['[REDACTED]'] } });
      for (const claims of ['ReadClaims', 'WriteClaims', 'PastClaims']) expect(Volume).not.toHaveProperty(claims);
    }
    expect(events[1]?.Payload).toMatchObject({ Volume: { WriteAllocs: { [A]: null } } });
  });

  it('API-21, API-626, VL-3, EV-52: what is said of a volume does not take its secrets away', () => {
    const { register, claim, stored } = cluster();
    for (let i = 0; i < 3; i++) eventsOf(register(said));
    eventsOf(claim({}));
    expect(stored()).toMatchObject(said);
  });

  it('VL-6: the history keeps no secret, neither of a change nor of a deletion', () => {
    const { register, deregister } = cluster();
    register({ ...said, MountOptions: null });
    const changed = objectChanges(register({ Secrets: { key: 'other' } }));
    const deleted = objectChanges(deregister(['data']));
    expect([...changed, ...deleted].map(({ kind, op }) => `${kind} ${op}`)).toEqual(['volume update', 'volume delete']);
    expect(JSON.stringify([...changed, ...deleted].map(({ undo, text }) => ({ undo, text })))).not.toMatch(
      /correct-horse|other/,
    );
  });
});
