import { FakeTime } from '@waybill/model';
import { CSI_CONTROLLER, GONE, NO_RESPONDER, RpcError, RpcUnavailableError } from '@waybill/rpc';
import { describe, expect, it } from 'vitest';
import { type Asked, VolumesCluster } from '../releases/volumes-cluster.fixture.js';

function withControllers(...ids: string[]): VolumesCluster {
  const cluster = new VolumesCluster();
  for (const id of ids) cluster.machine(id, { controller: true });
  cluster.lead();
  return cluster;
}
const detach = (cluster: VolumesCluster, PluginID = 'disks'): Promise<unknown> =>
  cluster.term.calls.controller(CSI_CONTROLLER.detach, {
    PluginID,
    VolumeID: 'v',
    ClientCSINodeID: 'n',
    Secrets: null,
  });
const askedOf = (cluster: VolumesCluster): (string | undefined)[] => cluster.machines.asked.map(({ nodeId }) => nodeId);
const failingOn = (cluster: VolumesCluster, nodeId: string, error: Error): void =>
  void cluster.machines.answers.set('agent.csiControllerDetachVolume', (asked: Asked) => {
    if (asked.nodeId === nodeId) throw error;
    return {};
  });

describe('calls to controller plugins', () => {
  it('VL-127: the first in order of node IDs is preferred', async () => {
    const cluster = withControllers('b', 'a', 'c');
    await detach(cluster);
    await detach(cluster);
    expect(askedOf(cluster)).toEqual(['a', 'a']);
  });

  it.each([
    new RpcError('retryable', 'CSI client error (retryable): UNAVAILABLE'),
    new RpcError('not-found', 'Unknown node a'),
    new RpcUnavailableError('detach', NO_RESPONDER),
  ])('VL-127: the next is asked after $message', async (error) => {
    const cluster = withControllers('a', 'b');
    failingOn(cluster, 'a', error);
    await detach(cluster);
    expect(askedOf(cluster)).toEqual(['a', 'b']);
  });

  it('VL-127: the last error is the answer, with its code, when all instances say that another may answer', async () => {
    const cluster = withControllers('a');
    failingOn(cluster, 'a', new RpcUnavailableError('detach', GONE));
    await expect(detach(cluster)).rejects.toMatchObject({
      code: 'retryable',
      message: 'controller detach volume: CSI client error (retryable): the client was lost in the middle of the call',
    });
  });

  it('VL-127: the next is asked when the machine of one dies in the middle of a call', async () => {
    const cluster = withControllers('a', 'b');
    cluster.machines.answers.set('agent.csiControllerDetachVolume', ({ name, nodeId }: Asked) => {
      if (nodeId === 'a') throw new RpcUnavailableError(name, GONE);
      return {};
    });
    await detach(cluster);
    expect(askedOf(cluster)).toEqual(['a', 'b']);
  });

  it('VL-127, VL-133: any other error is the answer, with the name of the call', async () => {
    const cluster = withControllers('a', 'b');
    failingOn(cluster, 'a', new RpcError('internal', 'CSI.ControllerDetachVolume: no'));
    await expect(detach(cluster)).rejects.toThrow('controller detach volume: CSI.ControllerDetachVolume: no');
    expect(askedOf(cluster)).toEqual(['a']);
  });

  it('VL-103, VL-127: when nobody can be reached, that is the last error', async () => {
    const cluster = withControllers('a', 'b');
    cluster.machines.unreachable('agent.csiControllerDetachVolume');
    await expect(detach(cluster)).rejects.toThrow('controller detach volume: No path to node');
    expect(askedOf(cluster)).toEqual(['a', 'b']);
  });

  it('VL-128: no plugin, no instance, none usable', async () => {
    const cluster = withControllers('a');
    await expect(detach(cluster, 'none')).rejects.toThrow('plugin missing: none');
    cluster.write('NodeUpdateStatus', {
      NodeID: 'a',
      Status: 'down',
      UpdatedAt: 0,
      NodeEvent: null,
      IdentitySigningKeyID: '',
    });
    await expect(detach(cluster)).rejects.toThrow(
      'failed to find clients running controller plugin "disks": node "a" for plugin instance "plugin-on-a" is not ready',
    );
    const nodesOnly = new VolumesCluster();
    nodesOnly.machine('m');
    nodesOnly.lead();
    await expect(detach(nodesOnly)).rejects.toThrow('failed to find instances of controller plugin "disks"');
  });

  it('VL-126: a machine that is not eligible may serve', async () => {
    const cluster = withControllers('a');
    cluster.machine('a', { controller: true, over: { SchedulingEligibility: 'ineligible' } });
    await detach(cluster);
    expect(askedOf(cluster)).toEqual(['a']);
  });

  it('VL-129, VL-130: what changes something goes one at a time for each plugin; what only asks does not wait', async () => {
    const time = new FakeTime();
    const cluster = withControllers('a');
    const slow = (): Promise<unknown> => new Promise((resolve) => time.after(50, () => resolve({})));
    for (const name of ['ControllerDetachVolume', 'ControllerListVolumes'])
      cluster.machines.answers.set(`agent.csi${name}`, slow);
    const ended: string[] = [];
    const started = time.nowMs();
    const at = (name: string) => (): void => void ended.push(`${name} ${time.nowMs() - started}`);
    const page = { PluginID: 'disks', MaxEntries: 0, StartingToken: '' };
    void detach(cluster).then(at('first'));
    void detach(cluster).then(at('second'));
    void cluster.term.calls.controller(CSI_CONTROLLER.list, page).then(at('list'));
    await time.pass(200);
    expect(ended).toEqual(['first 50', 'list 50', 'second 100']);
  });

  it('VL-131: who waits for a turn when the term ends is told so at once; nothing is sent for it', async () => {
    const cluster = withControllers('a');
    cluster.machines.answers.set('agent.csiControllerDetachVolume', () => new Promise(() => undefined));
    void detach(cluster);
    const waiting = detach(cluster);
    const { calls } = cluster.term;
    cluster.follow();
    await expect(waiting).rejects.toThrow(/^No cluster leader$/);
    await expect(
      calls.controller(CSI_CONTROLLER.detach, {
        PluginID: 'disks',
        VolumeID: 'v',
        ClientCSINodeID: 'n',
        Secrets: null,
      }),
    ).rejects.toThrow(/^No cluster leader$/);
    expect(askedOf(cluster)).toEqual(['a']);
  });
});
