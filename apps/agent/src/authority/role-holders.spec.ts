import type { CallFence, RoleTerms } from '@waybill/rpc';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { RoleHolders } from './role-holders.js';

const terms = (Epoch: number, over: Partial<RoleTerms> = {}): RoleTerms => ({
  ClusterID: 'c',
  RestoredIndex: 0,
  Holders: { volumes: { Epoch, Holder: `holder-${Epoch}` } },
  ...over,
});
const fence = (Epoch: number, over: Partial<CallFence> = {}): CallFence => ({
  Role: 'volumes',
  Epoch,
  Holder: `holder-${Epoch}`,
  ...over,
});

function machine(known?: RoleTerms) {
  const stored: RoleTerms[] = [];
  const save = async (all: RoleTerms): Promise<void> => void stored.push(all);
  const holders = new RoleHolders({ save }, silentLogger, known);
  const admit = (shown: CallFence): Promise<string> =>
    holders.admit('volumes', shown).then(
      () => 'admitted',
      (error: Error) => error.message,
    );
  return { holders, stored, admit };
}

describe('the holders of roles that call a machine', () => {
  it('AU-256: a deposed holder is refused once the machine has heard of its successor from a server', async () => {
    const { holders, admit } = machine();
    expect(await admit(fence(7))).toBe('admitted');
    holders.updateHolders(terms(9));
    expect(await admit(fence(7))).toBe(
      'stale epoch: holder-7 calls as holder of volumes with epoch 7, and this machine knows epoch 9 of holder-9',
    );
    expect(await admit(fence(9))).toBe('admitted');
  });

  it('AU-256: within one history, a later epoch counts and is stored once, and an equal or earlier one changes nothing', async () => {
    const { holders, stored, admit } = machine(terms(7));
    holders.updateHolders(terms(7));
    holders.updateHolders(terms(9));
    holders.updateHolders(terms(9));
    holders.updateHolders(terms(8));
    expect(stored).toEqual([terms(9)]);
    expect(await admit(fence(7))).toMatch(/^stale epoch/);
    expect(await admit(fence(9))).toBe('admitted');
    const nodes = { Epoch: 1, Holder: 'n' };
    holders.updateHolders(terms(5, { Holders: { nodes } }));
    expect(stored.at(-1)?.Holders).toEqual({ ...terms(9).Holders, nodes });
  });

  it('AU-256: the first history that a machine hears of continues what calls have told it before', async () => {
    const { holders, admit, stored } = machine();
    await admit(fence(7));
    holders.updateHolders(terms(5));
    expect(stored.at(-1)).toEqual({ ...terms(7) });
    expect(await admit(fence(5))).toMatch(/^stale epoch/);
    expect(await admit(fence(7))).toBe('admitted');
  });

  it('AU-256, AU-334: a call of the successor deposes the holder before, over a restart of the agent as well', async () => {
    const first = machine();
    await first.admit(fence(7));
    await first.admit(fence(8));
    expect(first.stored.map(({ Holders }) => Holders.volumes?.Epoch)).toEqual([7, 8]);
    const restarted = machine(first.stored.at(-1));
    expect(await restarted.admit(fence(7))).toMatch(/^stale epoch/);
    expect(await restarted.admit(fence(8))).toBe('admitted');
    expect(restarted.stored).toEqual([]);
  });

  it('AU-334: a newer epoch is stored before its call is admitted', async () => {
    const failing = new RoleHolders({ save: () => Promise.reject(new Error('disk full')) }, silentLogger);
    await expect(failing.admit('volumes', fence(1))).rejects.toThrow('disk full');
  });

  it('AU-255: another process that claims the same epoch is refused', async () => {
    const { admit } = machine(terms(5));
    expect(await admit(fence(5, { Holder: 'another' }))).toMatch(/^stale epoch: another/);
  });

  it('AU-257: a fence of one role is refused where another is needed', async () => {
    const { admit } = machine();
    expect(await admit(fence(7, { Role: 'nodes' }))).toBe('Permission denied');
  });

  it('AU-256: a server that is behind does not bring a deposed holder back', async () => {
    const { holders, admit, stored } = machine(terms(9));
    holders.updateHolders(terms(7));
    holders.updateHolders(undefined);
    expect(await admit(fence(7))).toMatch(/^stale epoch/);
    expect(stored).toEqual([]);
  });

  it('AU-256: a restored state begins a history whose epochs count, although they are lower', async () => {
    const { holders, admit, stored } = machine(terms(9, { RestoredIndex: 100 }));
    holders.updateHolders(terms(12, { RestoredIndex: 50 }));
    expect(await admit(fence(9))).toBe('admitted');
    holders.updateHolders(terms(2, { RestoredIndex: 200 }));
    expect(await admit(fence(9, { Holder: 'holder-2' }))).toBe('admitted');
    expect(stored.map(({ RestoredIndex }) => RestoredIndex)).toEqual([200, 200]);
    holders.updateHolders(terms(1, { ClusterID: 'another' }));
    expect(await admit(fence(1))).toBe('admitted');
  });
});
