import { FakeTime, settle } from '@waybill/model';
import type { PluginRecord } from '@waybill/plugins';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import {
  PATIENCE_MS,
  type PluginEvent,
  PluginInstance,
  PluginUnavailableError,
  type StartedPlugin,
} from './plugin-instance.js';

/** A process that ends when the test says so. */
class ScriptedProcess implements StartedPlugin {
  readonly record: PluginRecord;
  readonly connection = { isClosed: false };
  readonly exited: Promise<string>;
  ends: string[] = [];
  die: (status: string) => void = () => {};

  constructor(pid: number) {
    const process = { pid, startTicks: '1', bootId: 'b' };
    this.record = { network: 'unix', address: `/s${pid}`, process, dir: '/d' };
    this.exited = new Promise((resolve) => {
      this.die = (status) => {
        this.connection.isClosed = true;
        resolve(status);
      };
    });
  }

  async end(): Promise<void> {
    this.ends.push('end');
    this.die('exit status 0');
  }

  async kill(): Promise<void> {
    this.ends.push('kill');
  }
}

function aPlugin(
  over: {
    before?: PluginRecord;
    reattach?: () => Promise<ScriptedProcess>;
    launch?: () => Promise<ScriptedProcess>;
  } = {},
) {
  const time = new FakeTime();
  const processes: ScriptedProcess[] = [];
  const statuses: string[] = [];
  const events: PluginEvent[] = [];
  const saved = new Map<string, PluginRecord>(over.before ? [['web', over.before]] : []);
  const launch = async (): Promise<ScriptedProcess> => {
    const process = new ScriptedProcess(processes.length + 1);
    processes.push(process);
    return process;
  };
  const plugin = new PluginInstance<ScriptedProcess>({
    name: 'web',
    isDriver: true,
    clock: time,
    timers: time,
    logger: silentLogger,
    records: {
      get: (name) => saved.get(name),
      put: async (name, record) => void saved.set(name, record),
      remove: async (name) => void saved.delete(name),
    },
    launch: over.launch ?? launch,
    reattach: over.reattach ?? (() => Promise.reject(new Error('gone'))),
    onExit: (status) => statuses.push(status),
    count: (event) => events.push(event),
  });
  return { plugin, time, processes, statuses, saved, events };
}

describe('the process of a plugin in service', () => {
  it('PG-31, PG-71: callers at the same time get one process, which is on disk; an orderly end removes it', async () => {
    const { plugin, processes, saved } = aPlugin();
    const all = await Promise.all([plugin.runningProcess(), plugin.runningProcess(), plugin.runningProcess()]);
    expect([new Set(all).size, processes.length]).toEqual([1, 1]);
    expect(saved.get('web')).toEqual(processes[0]!.record);
    await plugin.close();
    expect([processes[0]!.ends, saved.size]).toEqual([['end'], 0]);
    await expect(plugin.runningProcess()).rejects.toThrow('plugin is shut down');
  });

  it('PG-72: the process of an earlier agent is taken up; one that does not answer is replaced', async () => {
    const before = new ScriptedProcess(77);
    const taken = aPlugin({ before: before.record, reattach: async () => before });
    expect(await taken.plugin.runningProcess()).toBe(before);
    expect(taken.processes).toHaveLength(0);

    const gone = aPlugin({ before: before.record });
    expect((await gone.plugin.runningProcess()).record.process.pid).toBe(1);
  });

  it('PG-125: starts, take-overs and ends are counted, but not the end that the agent wants', async () => {
    const before = new ScriptedProcess(77);
    const { plugin, events, processes } = aPlugin({ before: before.record, reattach: async () => before });
    await plugin.runningProcess();
    before.die('signal: SIGKILL');
    await settle();
    await plugin.runningProcess();
    processes[0]!.die('exit status 1');
    await settle();
    await plugin.runningProcess();
    await plugin.close();
    expect(events).toEqual(['reattached', 'exited', 'started', 'exited', 'started']);
  });

  it('PG-78: after three deaths in a row at the start, the next start waits 5 s, then twice as long', async () => {
    const { plugin, time, processes, statuses } = aPlugin();
    const next = async (): Promise<void> => {
      const process = await plugin.runningProcess();
      process.die('exit status 3');
      await settle();
    };
    for (let death = 0; death < 3; death++) await next();
    expect(processes).toHaveLength(3);
    expect(statuses).toEqual(Array(3).fill('plugin exited: exit status 3'));
    for (const waitMs of [5_000, 10_000, 20_000]) {
      const before = processes.length;
      const again = next();
      await time.pass(waitMs - 1);
      expect(processes).toHaveLength(before);
      await time.pass(1);
      await again;
      expect(processes).toHaveLength(before + 1);
    }
    const lives = plugin.runningProcess();
    await time.pass(40_000);
    const process = await lives;
    await time.pass(10_000);
    process.die('signal: SIGKILL');
    await settle();
    await plugin.runningProcess(); // at once, because it has lived for long enough
  });

  it('PG-78: a call waits five minutes for a plugin that cannot be started, and the next one waits again', async () => {
    const { plugin, time } = aPlugin({ launch: () => Promise.reject(new Error('no such file')) });
    const refused = expect(plugin.runningProcess()).rejects.toThrow(PluginUnavailableError);
    await time.pass(PATIENCE_MS);
    await refused;
    const second = expect(plugin.runningProcess()).rejects.toThrow('plugin is shut down');
    await settle();
    await plugin.close();
    await second;
  });
});
