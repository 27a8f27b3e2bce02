import { isClientTerminal } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { agentAndServers } from './fixtures/agent-and-servers.js';
import { aTask, FOREVER } from './fixtures/running-allocation.js';

const MINUTE_MS = 60_000;
const A_VOLUME = {
  VolumeID: 'data',
  VolumeExternalID: 'disk',
  PluginID: 'disks',
  ExternalNodeID: 'n1',
  MountInfo: { Source: '/published', IsDevice: false },
};

describe('what the servers want', () => {
  it('OP-47: after a restore it says again how things are, kills nothing, and goes on with what was stopped since', async () => {
    const { time, servers, startedAgent, anAlloc, started } = agentAndServers();
    for (const id of ['runs', 'stops']) servers.want(anAlloc(id));
    servers.want(anAlloc('ends', [aTask('web', { run_for: '90s' })]));
    const agent = await startedAgent();
    const archived = [...servers.wanted.values()];
    expect(archived.map(({ ClientStatus }) => ClientStatus)).toEqual(['running', 'running', 'running']);
    servers.want({ ...servers.wanted.get('stops')!, DesiredStatus: 'stop' });
    servers.want(anAlloc('later'));
    await time.pass(MINUTE_MS);
    expect(servers.toldOf('ends').at(-1)?.ClientStatus).toBe('failed');
    expect(servers.toldOf('stops').at(-1)?.ClientStatus).toBe('complete');

    servers.told.length = 0;
    servers.restore(...archived);
    await time.pass(10_000);
    expect(servers.toldOf('runs').map(({ ClientStatus }) => ClientStatus)).toContain('running');
    expect(servers.toldOf('ends').map(({ ClientStatus }) => ClientStatus)).toEqual(['failed']);
    expect(servers.toldOf('stops').at(-1)?.ClientStatus).toBe('running');
    expect(started.toSorted()).toEqual(['ends/web', 'later/web', 'runs/web', 'stops/web', 'stops/web']);
    expect(agent.stats()).toMatchObject({ allocations: 3, runningAllocations: 2 });
  });

  it('OP-47: one that had ended for good and is to run after a restore hears what becomes of it', async () => {
    const { time, servers, startedAgent, anAlloc, started } = agentAndServers();
    const over = anAlloc('a', undefined, { ClientStatus: 'complete' });
    servers.want(over);
    await startedAgent();
    servers.restore({ ...over, ClientStatus: 'running', AllocModifyIndex: 1 });
    await time.pass(10_000);
    expect(started).toEqual(['a/web']);
    servers.want({ ...over, ClientStatus: 'running', DesiredStatus: 'stop' });
    await time.pass(MINUTE_MS);
    expect(servers.toldOf('a').at(-1)?.ClientStatus).toBe('complete');
  });

  it('OP-47: one that runs stops after a restore to a state in which it was to stop, however old that is', async () => {
    const { time, servers, startedAgent, anAlloc } = agentAndServers();
    const wanted = anAlloc('a');
    servers.want(wanted);
    await startedAgent();
    servers.restore({ ...wanted, ClientStatus: 'running', DesiredStatus: 'stop', AllocModifyIndex: 1 });
    await time.pass(MINUTE_MS);
    expect(servers.toldOf('a').at(-1)?.ClientStatus).toBe('complete');
  });

  it('OP-47: one that is to begin again and is stopped before it has left does not begin', async () => {
    const { time, servers, startedAgent, anAlloc, started } = agentAndServers();
    servers.want(anAlloc('a', [aTask('web', { ...FOREVER, kill_after: '30s' })]));
    await startedAgent();
    const [archived] = [...servers.wanted.values()];
    servers.want({ ...archived!, DesiredStatus: 'stop' });
    await time.pass(5_000);
    servers.restore(archived!);
    await time.pass(5_000);
    servers.want({ ...archived!, DesiredStatus: 'stop' });
    await time.pass(MINUTE_MS);
    expect(started).toEqual(['a/web']);
    expect(servers.toldOf('a').at(-1)?.ClientStatus).toBe('complete');
  });

  it('AG-33: a machine that is purged registers at once, not at its next heartbeat', async () => {
    const { time, servers, startedAgent } = agentAndServers();
    await startedAgent();
    await time.pass(MINUTE_MS);
    servers.asked.length = 0;
    servers.purge();
    await time.pass(1);
    expect(servers.asked).toEqual(['heartbeat', 'register']);
  });

  it('AG-49: one that is to begin again does not begin when the agent has ended meanwhile', async () => {
    const { time, servers, startedAgent, anAlloc, started } = agentAndServers();
    servers.want(anAlloc('a', [aTask('web', { ...FOREVER, kill_after: '30s' })]));
    const agent = await startedAgent();
    const [archived] = [...servers.wanted.values()];
    servers.want({ ...archived!, DesiredStatus: 'stop' });
    await time.pass(5_000);
    servers.restore(archived!);
    await time.pass(5_000);
    await agent.stop();
    await time.pass(MINUTE_MS);
    expect(started).toEqual(['a/web']);
  });

  it('OP-47: what it did by an order from before a restore is not told behind it; it hears first what it is to run now', async () => {
    const { time, servers, startedAgent, anAlloc, started } = agentAndServers();
    servers.want(anAlloc('a'));
    await startedAgent();
    const [archived] = [...servers.wanted.values()];
    servers.silent.add('nodeAllocs').add('updateAllocs');
    servers.want({ ...archived!, DesiredStatus: 'stop' });
    await time.pass(MINUTE_MS);
    servers.restore(archived!);
    servers.silent.delete('updateAllocs');
    servers.told.length = 0;
    servers.asked.length = 0;
    await time.pass(MINUTE_MS);
    expect(servers.asked).toContain('updateAllocs');
    expect(servers.told).toEqual([]);
    servers.silent.delete('nodeAllocs');
    await time.pass(2 * MINUTE_MS);
    expect(started).toEqual(['a/web', 'a/web']);
    expect(servers.toldOf('a').map(({ ClientStatus }) => ClientStatus)).not.toContain('complete');
    expect(servers.toldOf('a').at(-1)?.ClientStatus).toBe('running');
  });

  it('OP-47: after a restore it registers again: what it has and lacks by now is not what the archive says', async () => {
    const { time, servers, startedAgent } = agentAndServers();
    await startedAgent();
    servers.asked.length = 0;
    await time.pass(MINUTE_MS);
    expect(servers.asked).not.toContain('register');
    servers.restore();
    await time.pass(MINUTE_MS);
    expect(servers.asked.filter((call) => call === 'register')).toHaveLength(1);
  });

  it('AG-12, AG-13: it registers before it asks for anything else', async () => {
    const { time, servers, startedAgent } = agentAndServers();
    servers.silent.add('register');
    await startedAgent();
    expect(new Set(servers.asked)).toEqual(new Set(['register']));
    servers.silent.clear();
    await time.pass(MINUTE_MS);
    expect(servers.asked.filter((call) => call !== 'register').toSorted()).toContain('nodeAllocs');
  });

  it('AG-45, AG-403: what they have forgotten is killed and removed, although it runs', async () => {
    const { time, servers, startedAgent, anAlloc, removed, records } = agentAndServers();
    servers.want(anAlloc('a'));
    const agent = await startedAgent();
    expect(agent.taskState('a', 'web')?.State).toBe('running');
    const runner = agent.runnerOf('a')!;
    servers.forget('a');
    await time.pass(MINUTE_MS);
    expect(agent.runnerOf('a')).toBeUndefined();
    expect(runner.clientUpdate().TaskStates['web']?.State).toBe('dead');
    expect([removed, [...records.saved.keys()]]).toEqual([['a'], []]);
  });

  it('AG-46: one that is over already is not started, one that should run is', async () => {
    const { servers, startedAgent, anAlloc, started } = agentAndServers();
    servers.want(anAlloc('over', undefined, { ClientStatus: 'complete' }));
    servers.want(anAlloc('lost', undefined, { DesiredStatus: 'stop', ClientStatus: 'lost' }));
    servers.want(anAlloc('fresh'));
    const agent = await startedAgent();
    expect(started).toEqual(['fresh/web']);
    expect(agent.stats()).toMatchObject({ allocations: 1 });
  });

  it('AG-46: one that is to stop and was never here is told as complete, without a start', async () => {
    const { servers, startedAgent, anAlloc, started } = agentAndServers();
    servers.want(anAlloc('stopped', undefined, { DesiredStatus: 'stop' }));
    await startedAgent();
    expect(started).toEqual([]);
    expect(servers.toldOf('stopped').at(-1)?.ClientStatus).toBe('complete');
  });

  it('AG-52, AG-159: one whose start blocks, or that is slow to die, holds up no other', async () => {
    const { time, servers, startedAgent, anAlloc } = agentAndServers();
    const slow = anAlloc('slow', [aTask('web', { ...FOREVER, start_block_for: '1h' })]);
    const stubborn = anAlloc('stubborn', [aTask('web', { ...FOREVER, kill_after: '1h' })]);
    servers.want(slow);
    servers.want(stubborn);
    servers.want(anAlloc('quick'));
    const agent = await startedAgent();
    expect(agent.taskState('quick', 'web')?.State).toBe('running');
    expect(agent.taskState('slow', 'web')?.State).toBe('pending');
    servers.want({ ...stubborn, DesiredStatus: 'stop' });
    servers.want({ ...servers.wanted.get('quick')!, DesiredStatus: 'stop' });
    await time.pass(MINUTE_MS);
    expect(agent.taskState('stubborn', 'web')?.State).toBe('running');
    expect(agent.taskState('quick', 'web')?.State).toBe('dead');
    expect(servers.toldOf('quick').at(-1)?.ClientStatus).toBe('complete');
  });

  it.each(['..', '.', 'a/b', '../../x', 'a\0b', 'a\nb', '.incoming', 'alloc', 'x'.repeat(236)])(
    'AG-47: of a task named %j nothing is made, whatever the servers have accepted',
    async (name) => {
      const { servers, startedAgent, anAlloc, started } = agentAndServers();
      servers.want(anAlloc('bad', [aTask('web', FOREVER), aTask(name, FOREVER)]));
      servers.want(anAlloc('good'));
      await startedAgent();
      expect(started).toEqual(['good/web']);
      expect(servers.toldOf('bad').at(-1)).toMatchObject({
        ClientStatus: 'failed',
        ClientDescription: expect.stringContaining(
          `Unable to add allocation due to error: the task ${JSON.stringify(name)}`,
        ),
      });
    },
  );

  it('AG-47: nor of an allocation that is named like a path, or of tasks that would share a directory', async () => {
    const { servers, startedAgent, anAlloc, started } = agentAndServers();
    servers.want(anAlloc('../up'));
    servers.want(anAlloc('alike', [aTask('web', FOREVER), aTask('WEB', FOREVER)]));
    await startedAgent();
    expect(started).toEqual([]);
    const descriptions = ['../up', 'alike'].map((id) => servers.toldOf(id).at(-1)?.ClientDescription);
    expect(descriptions).toEqual([
      'Unable to add allocation due to error: the allocation "../up" cannot include slashes',
      expect.stringContaining("Task name 'WEB' cannot be told from 'web'"),
    ]);
  });

  it('AG-193: a task that an earlier agent has started under a dangerous name is ended, and its allocation fails', async () => {
    const { servers, records, startedAgent, newAgent, anAlloc, time } = agentAndServers();
    servers.want(anAlloc('old'));
    const first = await startedAgent();
    await first.stop();
    const record = records.saved.get('old')!;
    const [group] = record.alloc.Job!.TaskGroups;
    group!.Tasks[0]!.Name = '..';
    records.saved.set('old', { ...record, tasks: { '..': record.tasks['web']! } });
    const next = newAgent();
    await next.start();
    await time.pass(MINUTE_MS);
    expect(next.taskState('old', '..')).toBeUndefined();
    expect(servers.toldOf('old').at(-1)).toMatchObject({
      ClientStatus: 'failed',
      ClientDescription: expect.stringContaining('the task ".." is refused'),
    });
  });

  it('AG-446: a predecessor that is not here is not waited for', async () => {
    const { servers, startedAgent, anAlloc, started } = agentAndServers();
    servers.want(anAlloc('next', undefined, { PreviousAllocation: 'nobody knows it' }));
    await startedAgent();
    expect(started).toEqual(['next/web']);
  });

  it('AG-53: one that the servers forget in the list that has its successor is waited for until its tasks have ended', async () => {
    const { time, servers, startedAgent, anAlloc, started } = agentAndServers();
    servers.want(anAlloc('before', [aTask('web', { ...FOREVER, kill_after: '3s' })]));
    await startedAgent();
    servers.want(anAlloc('next', undefined, { PreviousAllocation: 'before' }));
    servers.forget('before');
    await time.pass(2_000);
    expect(started).toEqual(['before/web']);
    await time.pass(MINUTE_MS);
    expect(started).toEqual(['before/web', 'next/web']);
  });

  it('AG-447: one that preempted others starts when they have ended, also when they had before', async () => {
    const { time, servers, startedAgent, anAlloc, started } = agentAndServers();
    const low = anAlloc('low', [aTask('web', { ...FOREVER, kill_after: '20s' })]);
    servers.want(low);
    await startedAgent();
    servers.want({ ...low, DesiredStatus: 'evict' });
    servers.want(anAlloc('high', undefined, { PreemptedAllocations: ['low'] }));
    await time.pass(10_000);
    expect(started).toEqual(['low/web']);
    await time.pass(MINUTE_MS);
    expect(started).toEqual(['low/web', 'high/web']);
    servers.want(anAlloc('later', undefined, { PreemptedAllocations: ['low'] }));
    await time.pass(MINUTE_MS);
    expect(started).toEqual(['low/web', 'high/web', 'later/web']);
  });
});

describe('one that is on its way out', () => {
  it('AG-402: when it is wanted again it starts after it is gone; an update meanwhile changes nothing', async () => {
    const { time, servers, startedAgent, anAlloc, started, removed } = agentAndServers();
    const slow = anAlloc('a', [aTask('web', { ...FOREVER, kill_after: '30s' })]);
    servers.want(slow);
    const agent = await startedAgent();
    const before = agent.runnerOf('a')!;
    servers.forget('a');
    await time.pass(10_000);
    servers.want({ ...slow, DesiredDescription: 'once more' });
    await time.pass(10_000);
    expect([before.clientUpdate().TaskStates['web']?.State, removed, started]).toEqual(['running', [], ['a/web']]);
    await time.pass(MINUTE_MS);
    expect([before.clientUpdate().TaskStates['web']?.State, removed, started]).toEqual([
      'dead',
      ['a'],
      ['a/web', 'a/web'],
    ]);
    expect(agent.taskState('a', 'web')?.State).toBe('running');
  });
});

describe('collection', () => {
  it('AG-212: one whose files are slow to go holds up no new allocation', async () => {
    const { time, servers, startedAgent, anAlloc, slowToGo, started } = agentAndServers();
    servers.want(anAlloc('done', [aTask('web', { run_for: '1s' })]));
    const agent = await startedAgent();
    slowToGo.add('done');
    void agent.collector.collectOne('done');
    await time.pass(MINUTE_MS);
    servers.want(anAlloc('next'));
    await time.pass(MINUTE_MS);
    expect(started).toEqual(['done/web', 'next/web']);
  });
});

describe('what the servers are told', () => {
  it('AG-65: what they have confirmed is not told again by the next agent', async () => {
    const { servers, startedAgent, anAlloc } = agentAndServers();
    servers.want(anAlloc('a'));
    const first = await startedAgent();
    await first.stop();
    const before = servers.told.length;
    expect(servers.toldOf('a').at(-1)?.ClientStatus).toBe('running');
    await startedAgent();
    expect(servers.told).toHaveLength(before);
  });

  it('AG-170, AG-183: without contact tasks go on, and are told about when the servers are back', async () => {
    const { time, servers, newAgent, anAlloc } = agentAndServers();
    const policy = { Attempts: 1, Interval: 3_600e9, Delay: 0, Mode: 'fail', RenderTemplates: false };
    servers.want(anAlloc('fails', [aTask('web', { run_for: '30s', exit_code: 1 }, { RestartPolicy: policy })]));
    servers.want(anAlloc('lives'));
    const agent = newAgent();
    await agent.start();
    await time.pass(20_000);
    for (const method of ['heartbeat', 'nodeAllocs', 'updateAllocs'] as const) servers.silent.add(method);
    const before = servers.told.length;
    await time.pass(5 * MINUTE_MS);
    expect(agent.taskState('fails', 'web')).toMatchObject({ State: 'dead', Restarts: 1, Failed: true });
    expect(agent.taskState('lives', 'web')?.State).toBe('running');
    expect(servers.told).toHaveLength(before);
    servers.silent.clear();
    await time.pass(MINUTE_MS);
    expect(servers.toldOf('fails').at(-1)?.ClientStatus).toBe('failed');
  });

  it('AG-37: heartbeats go on at their pace while reads and writes get no answer', async () => {
    const { time, servers, startedAgent, anAlloc } = agentAndServers();
    servers.want(anAlloc('a'));
    await startedAgent();
    for (const method of ['nodeAllocs', 'updateAllocs'] as const) servers.silent.add(method);
    servers.want(anAlloc('b'));
    servers.asked.length = 0;
    await time.pass(10 * MINUTE_MS);
    expect(servers.asked.filter((call) => call === 'heartbeat')).toHaveLength(60);
  });

  it.each([
    ['nodeAllocs', 'updateAllocs', 'heartbeat'],
    ['nodeAllocs', 'heartbeat', 'updateAllocs'],
    ['updateAllocs', 'nodeAllocs', 'heartbeat'],
    ['updateAllocs', 'heartbeat', 'nodeAllocs'],
    ['heartbeat', 'nodeAllocs', 'updateAllocs'],
    ['heartbeat', 'updateAllocs', 'nodeAllocs'],
  ] as const)('AG-182, AG-463: back in the order %s, %s, %s everything is as in any other', async (...order) => {
    const { time, servers, startedAgent, anAlloc, started } = agentAndServers();
    servers.want(anAlloc('goes on'));
    servers.want(anAlloc('ends', [aTask('web', { run_for: '3m' })]));
    const stops = anAlloc('is stopped');
    servers.want(stops);
    await startedAgent();
    for (const method of order) servers.silent.add(method);
    await time.pass(MINUTE_MS);
    servers.want({ ...stops, DesiredStatus: 'stop' });
    servers.want({ ...servers.wanted.get('goes on')!, ClientStatus: 'unknown' });
    servers.want(anAlloc('is new'));
    await time.pass(5 * MINUTE_MS);
    for (const method of order) {
      servers.silent.delete(method);
      await time.pass(2 * MINUTE_MS);
    }
    await time.pass(5 * MINUTE_MS);
    const last = (id: string) => servers.toldOf(id).at(-1)?.ClientStatus;
    expect(['goes on', 'ends', 'is stopped', 'is new'].map(last)).toEqual(['running', 'failed', 'complete', 'running']);
    expect(started.toSorted()).toEqual(['ends/web', 'goes on/web', 'is new/web', 'is stopped/web']);
    const events = servers
      .toldOf('goes on')
      .at(-1)
      ?.TaskStates['web']?.Events.map(({ Type }) => Type);
    expect(events?.filter((type) => type === 'Reconnected')).toHaveLength(1);
  });

  it('AG-67: after a reconnect its states are told although nothing but an event is new', async () => {
    const { time, servers, startedAgent, anAlloc } = agentAndServers();
    servers.want(anAlloc('a'));
    await startedAgent();
    const before = servers.toldOf('a').length;
    servers.want({ ...servers.wanted.get('a')!, ClientStatus: 'unknown' });
    await time.pass(MINUTE_MS);
    const [after] = servers.toldOf('a').slice(before);
    expect(after).toMatchObject({ ClientStatus: 'running' });
    expect(after?.TaskStates['web']?.Events.at(-1)?.Type).toBe('Reconnected');
  });
});

describe('what the agent before has left', () => {
  it('AG-196: an allocation without any task state is dropped, and comes back if it is still wanted', async () => {
    const { time, servers, startedAgent, anAlloc, records, started } = agentAndServers();
    const a = anAlloc('a');
    await records.save({ version: 1, alloc: a, tasks: {}, health: null, acknowledged: null });
    servers.silent.add('nodeAllocs');
    const agent = await startedAgent();
    expect([agent.runnerOf('a'), records.saved.size]).toEqual([undefined, 0]);
    servers.silent.clear();
    servers.want(a);
    await time.pass(2 * MINUTE_MS);
    expect(started).toEqual(['a/web']);
  });

  it('AG-197, AG-78: one whose directory is gone failed, whatever its tasks say, and nothing of it is left', async () => {
    const { servers, startedAgent, anAlloc, records, gone } = agentAndServers();
    servers.want(anAlloc('a'));
    servers.want(anAlloc('b'));
    const first = await startedAgent();
    await first.stop();
    gone.add('a');
    const next = await startedAgent();
    expect(servers.toldOf('a').at(-1)).toMatchObject({
      ClientStatus: 'failed',
      ClientDescription: 'Unable to add allocation due to error: its directory is gone',
    });
    expect([...records.saved.keys()]).toEqual(['b']);
    expect([next.runnerOf('a'), next.taskState('b', 'web')?.State]).toEqual([undefined, 'running']);
  });

  it('VL-228: the volumes of one whose directory is gone are given back', async () => {
    const { servers, startedAgent, anAlloc, records, gone, released } = agentAndServers();
    servers.want(anAlloc('a'));
    const first = await startedAgent();
    await first.stop();
    const stored = records.saved.get('a')!;
    const group = stored.alloc.Job!.TaskGroups[0]!;
    const volumes = { data: { ...A_VOLUME, VolumeNamespace: stored.alloc.Namespace } };
    const TaskGroups = [{ ...group, Volumes: { data: fixtures.aVolumeRequest() } }];
    await records.save({ ...stored, volumes, alloc: { ...stored.alloc, Job: { ...stored.alloc.Job!, TaskGroups } } });
    gone.add('a');
    await startedAgent();
    expect(released).toEqual(['a: data']);
    expect(records.saved.size).toBe(0);
  });

  it('AG-445: files and tasks of allocations that nothing is known of are reported, and nothing of them is taken up', async () => {
    const { servers, startedAgent, anAlloc, files, running, warned, started } = agentAndServers();
    servers.want(anAlloc('a'));
    const first = await startedAgent();
    await first.stop();
    files.push('a', 'of a lost state');
    running.push({ allocId: 'a', pid: 10 }, { allocId: 'of a lost state', pid: 11 });
    const next = await startedAgent();
    expect(warned).toEqual([{ allocs: ['of a lost state'] }, { alloc: 'of a lost state', pid: 11 }]);
    expect([next.stats().allocations, started]).toEqual([1, ['a/web']]);
  });

  it('AG-444: agent and servers start again together, and the servers are behind: nothing is touched', async () => {
    const { time, servers, startedAgent, anAlloc, started } = agentAndServers();
    servers.want(anAlloc('a'));
    const first = await startedAgent();
    servers.want({ ...servers.wanted.get('a')!, DesiredDescription: 'newer' });
    await time.pass(MINUTE_MS);
    await first.stop();
    servers.silent.add('nodeAllocs');
    const next = await startedAgent();
    expect(next.taskState('a', 'web')?.State).toBe('running');
    servers.wanted.set('a', { ...servers.wanted.get('a')!, AllocModifyIndex: 1, DesiredDescription: 'older' });
    servers.silent.clear();
    await time.pass(2 * MINUTE_MS);
    expect(next.runnerOf('a')!.alloc.DesiredDescription).toBe('newer');
    expect([next.taskState('a', 'web')?.State, started]).toEqual(['running', ['a/web']]);
  });

  it('AG-197: one that had not begun needs no directory', async () => {
    const { servers, startedAgent, anAlloc, gone } = agentAndServers();
    servers.want(anAlloc('b'));
    servers.want(anAlloc('a', undefined, { PreviousAllocation: 'b' }));
    const first = await startedAgent();
    await first.stop();
    gone.add('a');
    const next = await startedAgent();
    expect(isClientTerminal(next.runnerOf('a')!.clientUpdate())).toBe(false);
  });

  it('AG-419: sidecars whose main tasks ended while the agent was away are killed', async () => {
    const { time, servers, startedAgent, anAlloc } = agentAndServers();
    const sidecar = aTask('side', FOREVER, { Lifecycle: { Hook: 'prestart', Sidecar: true } });
    servers.want(anAlloc('a', [aTask('web', { run_for: '2m' }), sidecar], {}));
    const first = await startedAgent();
    expect(first.taskState('a', 'side')?.State).toBe('running');
    await first.stop();
    await time.pass(10 * MINUTE_MS);
    const next = await startedAgent();
    expect([next.taskState('a', 'web')?.State, next.taskState('a', 'side')?.State]).toEqual(['dead', 'dead']);
  });
});
