import type { CSIInfo, CSIPlugin, Job, Node } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';

const { aClientUpdate, aControllerPlugin, aGroup, aJob, aMachine, anAlloc, aNode, aNodePlugin, anEval } = fixtures;
const { aPlanResult, aRegistration, aTask, apply, uuid } = fixtures;

const node = (n: number) => uuid(0x100 + n);
const counts = (plugin: CSIPlugin | undefined) =>
  plugin && [plugin.ControllersHealthy, plugin.ControllersExpected, plugin.NodesHealthy, plugin.NodesExpected];

/** A job one of whose tasks is the plugin. */
function pluginJob(id: string, type: string, over: Partial<Job> = {}, Count = 1, plugin = 'disks'): Job {
  const CSIPluginConfig = {
    ID: plugin,
    Type: type,
    MountDir: '/csi',
    StagePublishBaseDir: '/local/csi',
    HealthTimeout: 30e9,
  };
  return aJob({ ID: id, TaskGroups: [aGroup({ Count, Tasks: [aTask({ CSIPluginConfig })] })], ...over });
}

function cluster() {
  const machine = aMachine();
  const register = (job: Job) => apply(machine, 'JobRegister', aRegistration(job));
  const report = (n: number, side: Partial<Pick<Node, 'CSIControllerPlugins' | 'CSINodePlugins'>>) =>
    apply(machine, 'NodeRegister', { Node: aNode({ ID: node(n), ...side }), CreateNodePool: false });
  const asNode = (n: number, info: Partial<CSIInfo> = {}) =>
    report(n, { CSINodePlugins: { disks: aNodePlugin(info) } });
  const asController = (n: number, info: Partial<CSIInfo> = {}) =>
    report(n, { CSIControllerPlugins: { disks: aControllerPlugin(info) } });
  const purge = (JobID: string, Purge = true) =>
    apply(
      machine,
      'JobDeregister',
      { JobID, Purge, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 },
      { namespace: 'default' },
    );
  const place = (jobId: string, ...allocs: [id: number, onNode: number][]) => {
    const job = machine.tables.jobs.get(`default/${jobId}`) as Job;
    const evaluation = anEval({ JobID: jobId });
    apply(machine, 'EvalUpdate', { Evals: [evaluation] });
    const AllocsUpdated = allocs.map(([id, n]) => anAlloc({ ID: uuid(id), NodeID: node(n), Job: job }));
    return apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated, EvalID: evaluation.ID }));
  };
  const stop = (id: number) => {
    const evaluation = anEval({});
    apply(machine, 'EvalUpdate', { Evals: [evaluation] });
    const AllocsStopped = [{ ID: uuid(id), DesiredDescription: '', ClientStatus: '' as const, FollowupEvalID: '' }];
    return apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsStopped, EvalID: evaluation.ID }));
  };
  const become = (id: number, n: number, ClientStatus: 'running' | 'complete') =>
    apply(machine, 'AllocClientUpdate', {
      Allocs: [aClientUpdate({ ID: uuid(id), NodeID: node(n) }, { ClientStatus })],
      Evals: [],
    });
  const plugin = (id = 'disks') => machine.tables.csi_plugins.get(id);
  return { machine, register, report, asNode, asController, purge, place, stop, become, plugin };
}

describe('where plugins come from', () => {
  it('VL-182: a job that declares one, unhealthy', () => {
    const { register, plugin } = cluster();
    register(pluginJob('p', 'monolith', {}, 3));
    expect(counts(plugin())).toEqual([0, 3, 0, 3]);
  });

  it('VL-182, ST-34: a healthy fingerprint, never an unhealthy one', () => {
    const { asNode, plugin } = cluster();
    asNode(1, { Healthy: false });
    expect(plugin()).toBeUndefined();
    asNode(1);
    expect(counts(plugin())).toEqual([0, 0, 1, 0]);
  });

  it('VL-186: provider and version come from fingerprints, the need of a controller from a controller only', () => {
    const { asController, asNode, plugin } = cluster();
    asNode(1, { RequiresControllerPlugin: true });
    expect(plugin()).toMatchObject({ Provider: 'disks.example', Version: '1.0', ControllerRequired: false });
    asController(2, { ProviderVersion: '2.0' });
    expect(plugin()).toMatchObject({ Version: '2.0', ControllerRequired: true });
  });
});

describe('how many are healthy', () => {
  it('VL-185: unhealthy ones stay known, and are not added', () => {
    const { asNode, register, plugin } = cluster();
    register(pluginJob('p', 'node', {}, 2));
    asNode(1);
    asNode(2, { Healthy: false });
    expect([counts(plugin()), Object.keys(plugin()?.Nodes ?? {})]).toEqual([[0, 0, 1, 2], [node(1)]]);
    asNode(1, { Healthy: false });
    expect([counts(plugin()), Object.keys(plugin()?.Nodes ?? {})]).toEqual([[0, 0, 0, 2], [node(1)]]);
    asNode(1);
    expect(counts(plugin())).toEqual([0, 0, 1, 2]);
  });

  it('VL-187, ST-34, ND-141: a node that stops reporting it, or goes, loses its entry; the last one ends the plugin', () => {
    const { machine, asController, asNode, report, plugin } = cluster();
    asNode(1);
    asController(2);
    asNode(3);
    report(1, {});
    expect(counts(plugin())).toEqual([1, 0, 1, 0]);
    apply(machine, 'NodeDeregister', { NodeID: node(2) });
    expect(counts(plugin())).toEqual([0, 0, 1, 0]);
    const last = apply(machine, 'NodeBatchDeregister', { NodeIDs: [node(3)], ScanIndex: machine.appliedIndex });
    expect(plugin()).toBeUndefined();
    expect(machine.tables.csi_plugins.tableIndex).toBe(last.index);
  });

  it('VL-189: a node that is down keeps its entries', () => {
    const { machine, asNode, plugin } = cluster();
    asNode(1);
    const down = { NodeID: node(1), Status: 'down' as const, UpdatedAt: 1, NodeEvent: null, IdentitySigningKeyID: '' };
    apply(machine, 'NodeUpdateStatus', down);
    expect(counts(plugin())).toEqual([0, 0, 1, 0]);
  });

  it('VL-188: an instance told to stop loses its own entry, not that of another one on its node', () => {
    const { asNode, register, place, stop, plugin } = cluster();
    register(pluginJob('p', 'node', {}, 2));
    asNode(1, { AllocID: uuid(1) });
    place('p', [1, 1], [2, 1]);
    stop(2);
    expect(counts(plugin())).toEqual([0, 0, 1, 2]);
    stop(1);
    expect(counts(plugin())).toEqual([0, 0, 0, 2]);
  });

  it('VL-188: what is still said of an instance that is gone leaves its successor on the node alone', () => {
    const { asNode, register, place, plugin } = cluster();
    register(pluginJob('p', 'node'));
    place('p', [2, 1]);
    asNode(1, { AllocID: uuid(2) });
    asNode(1, { AllocID: uuid(9), Healthy: false });
    expect([plugin()?.Nodes[node(1)]?.AllocID, plugin()?.NodesHealthy]).toEqual([uuid(2), 1]);
  });

  it('ND-117, VL-188: an instance that ends by its agent’s word loses its own entry', () => {
    const { asNode, register, place, become, plugin } = cluster();
    register(pluginJob('p', 'node', {}, 2));
    asNode(1, { AllocID: uuid(1) });
    asNode(2, { AllocID: uuid(2) });
    place('p', [1, 1], [2, 2]);
    become(1, 1, 'running');
    expect(Object.keys(plugin()?.Nodes ?? {})).toEqual([node(1), node(2)]);
    become(1, 1, 'complete');
    expect(Object.keys(plugin()?.Nodes ?? {})).toEqual([node(2)]);
  });

  it.each([
    ['unknown', uuid(99)],
    ['told to stop', uuid(1)],
  ])('VL-188: an unhealthy last word of an instance that is %s ends its entry', (_, AllocID) => {
    const { asNode, register, place, stop, plugin } = cluster();
    register(pluginJob('p', 'node'));
    asNode(1);
    place('p', [1, 1]);
    stop(1);
    asNode(1, { AllocID });
    expect(counts(plugin())).toEqual([0, 0, 1, 1]);
    asNode(1, { AllocID, Healthy: false });
    expect([counts(plugin()), plugin()?.Nodes]).toEqual([[0, 0, 0, 1], {}]);
  });

  it('what a node says again is no change', () => {
    const { machine, asNode } = cluster();
    const { index } = asNode(1);
    asNode(1);
    expect(machine.tables.csi_plugins.tableIndex).toBe(index);
  });
});

describe('how many are expected', () => {
  it('VL-183: of several jobs and of several groups of one job together, a monolith on both sides', () => {
    const { register, plugin } = cluster();
    const [group] = pluginJob('x', 'controller', {}, 2).TaskGroups;
    const two = pluginJob('a', 'node', {}, 3);
    register({ ...two, TaskGroups: [...two.TaskGroups, { ...(group as Job['TaskGroups'][number]), Name: 'more' }] });
    register(pluginJob('b', 'monolith', {}, 4));
    expect(counts(plugin())).toEqual([0, 6, 0, 7]);
    expect(plugin()?.ControllerJobs).toEqual({
      default: { a: { Namespace: 'default', ID: 'a', Expected: 2 }, b: { Namespace: 'default', ID: 'b', Expected: 4 } },
    });
  });

  it('VL-183: of a system job as many as its summary counts', () => {
    const { register, place, become, plugin } = cluster();
    register(pluginJob('p', 'node', { Type: 'system' }));
    expect(counts(plugin())).toEqual([0, 0, 0, 0]);
    place('p', [1, 1], [2, 2]);
    expect(counts(plugin())).toEqual([0, 0, 0, 2]);
    become(1, 1, 'running');
    become(2, 2, 'complete');
    expect(counts(plugin())).toEqual([0, 0, 0, 1]);
  });

  it('VL-184: a job that turns to another plugin, stops or is purged expects nothing of the old one', () => {
    const { register, purge, plugin } = cluster();
    register(pluginJob('p', 'node', {}, 2));
    register(pluginJob('q', 'node', {}, 3));
    register(pluginJob('p', 'node', {}, 2, 'shares'));
    expect([counts(plugin()), counts(plugin('shares'))]).toEqual([
      [0, 0, 0, 3],
      [0, 0, 0, 2],
    ]);
    purge('p', false);
    expect(plugin('shares')).toBeUndefined();
    purge('q');
    expect(plugin()).toBeUndefined();
  });

  it('VL-190: a purge takes the entries of its own instances along, and no others', () => {
    const { asNode, register, place, purge, plugin } = cluster();
    register(pluginJob('p', 'node', {}, 2));
    asNode(1, { AllocID: uuid(1) });
    asNode(2, { AllocID: uuid(77) });
    place('p', [1, 1]);
    purge('p');
    expect([counts(plugin()), Object.keys(plugin()?.Nodes ?? {})]).toEqual([[0, 0, 1, 0], [node(2)]]);
  });

  it('VL-194: the life of a plugin', () => {
    const { asController, asNode, become, place, plugin, purge, register, report, stop } = cluster();
    register(pluginJob('controllers', 'controller', {}, 2));
    register(pluginJob('nodes', 'node', { Type: 'system' }));
    expect(counts(plugin())).toEqual([0, 2, 0, 0]);
    place('controllers', [1, 1], [2, 2]);
    place('nodes', [11, 1], [12, 2], [13, 3]);
    expect(counts(plugin())).toEqual([0, 2, 0, 3]);
    for (const n of [1, 2]) {
      asController(n);
      report(n, { CSIControllerPlugins: { disks: aControllerPlugin() }, CSINodePlugins: { disks: aNodePlugin() } });
    }
    asNode(3);
    expect([counts(plugin()), plugin()?.ControllerRequired]).toEqual([[2, 2, 3, 3], true]);
    stop(1);
    stop(11);
    expect(counts(plugin())).toEqual([2, 2, 3, 3]);
    report(1, {});
    expect(counts(plugin())).toEqual([1, 2, 2, 3]);
    become(1, 1, 'complete');
    become(11, 1, 'complete');
    expect(counts(plugin())).toEqual([1, 2, 2, 2]);
    purge('controllers');
    purge('nodes');
    expect(counts(plugin())).toEqual([1, 0, 2, 0]);
    report(2, {});
    report(3, {});
    expect(plugin()).toBeUndefined();
  });
});

describe('collecting and announcing plugins', () => {
  it('VL-191, VL-192: an empty plugin goes and moves the index, one in use stays, one that is gone is gone', () => {
    const { machine, asNode, register, plugin } = cluster();
    register(pluginJob('p', 'node', { Type: 'system' }));
    asNode(1);
    const remove = () => apply(machine, 'CSIPluginDelete', { ID: 'disks' });
    expect(remove().verdict).toEqual({ kind: 'refused', code: 'conflict', error: 'plugin in use' });
    const empty = cluster();
    empty.register(pluginJob('p', 'node', { Type: 'system' }));
    const { index } = apply(empty.machine, 'CSIPluginDelete', { ID: 'disks' });
    expect([empty.plugin(), empty.machine.tables.csi_plugins.tableIndex]).toEqual([undefined, index]);
    expect(apply(empty.machine, 'CSIPluginDelete', { ID: 'disks' }).verdict.kind).toBe('noop');
    expect(plugin()).toBeDefined();
  });

  it('API-405, VL-276: a change of a plugin carries the type of the transaction that caused it', () => {
    const { asNode, register, purge } = cluster();
    const types = [register(pluginJob('p', 'node')), asNode(1), purge('p')].map((applied) =>
      eventsOf(applied)?.Events.filter(({ Topic }) => Topic === 'CSIPlugin'),
    );
    expect(types).toMatchObject([
      [{ Type: 'JobRegistered', Key: 'disks', Namespace: '', FilterKeys: ['disks'], Payload: { Plugin: {} } }],
      [{ Type: 'NodeRegistration', Payload: { Plugin: { NodesHealthy: 1 } } }],
      [{ Type: 'JobDeregistered' }],
    ]);
  });
});
