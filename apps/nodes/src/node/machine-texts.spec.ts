import {
  MAX_DRIVER_SCHEMA_CHARS,
  MAX_MACHINE_MESSAGE,
  MAX_NODE_NAME_BYTES,
  MAX_PLUGIN_ID_BYTES,
  MAX_TASK_EVENTS,
  newTaskEvent,
  type TaskEvent,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { cutEvent, nodeNameProblem, withCutReport, withCutTexts } from './machine-texts.js';

const long = 'x'.repeat(100_000);
const cut = `${'x'.repeat(MAX_MACHINE_MESSAGE - 1)}…`;

describe('what a machine sends that is too long', () => {
  it('is refused where it tells the machine from others', () => {
    expect(nodeNameProblem(fixtures.aNode())).toBeUndefined();
    const name = 'x'.repeat(MAX_NODE_NAME_BYTES + 1);
    expect(nodeNameProblem(fixtures.aNode({ Name: name }))).toBe('node name must be at most 255 bytes, currently 256');
    for (const member of ['ID', 'Datacenter', 'NodeClass', 'SecretID'] as const)
      expect(nodeNameProblem(fixtures.aNode({ [member]: long }))).toContain('must be at most');
  });

  it('AU-191: is refused if its secret looks like a signed identity, by which it could never call', () => {
    expect(nodeNameProblem(fixtures.aNode({ SecretID: 'a.secret' }))).toMatch(/^node secret ID must not contain a dot/);
  });

  it('is cut or left out where it is not, so that the machine is not lost', () => {
    const info = fixtures.aNode({ CSINodePlugins: { ok: fixtures.aNodePlugin() } }).CSINodePlugins['ok']!;
    const node = withCutTexts(
      fixtures.aNode({
        StatusDescription: long,
        Attributes: { 'kernel.name': 'linux', [long]: 'x' },
        Meta: { long },
        CSINodePlugins: { disks: { ...info, HealthDescription: long }, ['x'.repeat(MAX_PLUGIN_ID_BYTES + 1)]: info },
      }),
    );
    expect(node.StatusDescription).toBe(cut);
    expect(node.Attributes).toEqual({ 'kernel.name': 'linux' });
    expect(node.Meta['long']?.length).toBeLessThan(long.length);
    expect(Object.keys(node.CSINodePlugins)).toEqual(['disks']);
    expect(node.CSINodePlugins['disks']?.HealthDescription).toBe(cut);
  });

  it('PG-47: half a schema of a driver would refuse jobs, so one that is too long is left out', () => {
    const driver = fixtures.aNode().Drivers['mock_driver']!;
    const schemas = { short: 'x'.repeat(MAX_DRIVER_SCHEMA_CHARS), long };
    const Drivers = Object.fromEntries(
      Object.entries(schemas).map(([name, TaskConfigSchema]) => [name, { ...driver, TaskConfigSchema }]),
    );
    const cut = withCutTexts(fixtures.aNode({ Drivers: { ...Drivers, mock_driver: driver } })).Drivers;
    expect(cut['short']?.TaskConfigSchema).toBe(schemas.short);
    expect(cut['long']?.TaskConfigSchema).toBe('');
    expect(cut['mock_driver']).not.toHaveProperty('TaskConfigSchema');
  });

  it('is a whole number where an amount is not: people’s own SQL reads it as one', () => {
    const node = fixtures.aNode();
    node.NodeResources.Cpu.CpuShares = 2593.75;
    expect(withCutTexts(node).NodeResources.Cpu.CpuShares).toBe(2593);
  });

  it('is cut in events of machines and of tasks, of which the newest stay', () => {
    const event = { Message: long, Subsystem: 'Driver' as const, Details: { long }, Timestamp: null, CreateIndex: 0 };
    expect(cutEvent(event).Message).toBe(cut);
    const events = Array.from({ length: MAX_TASK_EVENTS + 5 }, (_, n) =>
      newTaskEvent('Driver Failure', n, { driver_error: long }),
    );
    const state = {
      State: 'dead' as const,
      Failed: true,
      Restarts: 0,
      LastRestart: null,
      StartedAt: null,
      FinishedAt: null,
      Paused: '',
    };
    const report = fixtures.aClientUpdate(fixtures.anAlloc(), {
      ClientDescription: long,
      TaskStates: { web: { ...state, Events: events } },
    });
    const { ClientDescription, TaskStates } = withCutReport(report);
    expect(ClientDescription).toBe(cut);
    expect(TaskStates['web']?.Events.map(({ Time }) => Time)).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
    expect(TaskStates['web']?.Events[0]).toMatchObject({ DriverError: cut, DisplayMessage: cut });
    expect(JSON.stringify(TaskStates).length).toBeLessThan(10 * 50_000);
  });

  /** The event as it is in a report whose texts were cut. */
  const reported = (over: Partial<TaskEvent>): TaskEvent | undefined => {
    const dead = { State: 'dead' as const, Failed: true, Restarts: 0, LastRestart: null, StartedAt: null };
    const Events = [{ ...newTaskEvent('Started', 1, {}), ...over }];
    const TaskStates = { web: { ...dead, FinishedAt: null, Paused: '', Events } };
    return withCutReport(fixtures.aClientUpdate(fixtures.anAlloc(), { TaskStates })).TaskStates['web']?.Events[0];
  };

  it('is cut in a task event whose details are short, and left as it is where all texts are', () => {
    const Details = { short: 'short' };
    expect(reported({ Message: long, Details })).toMatchObject({ Message: cut, Time: 1, Details });
    expect(reported({ Message: 'short', Details })).toMatchObject({ Message: 'short', Time: 1, Details });
  });

  it('is cut in the details of a task event whose other texts are short', () => {
    const found = reported({ Message: 'short', Details: { long, short: 'short' } });
    expect(found).toMatchObject({ Message: 'short', Time: 1, Details: { short: 'short' } });
    expect(found?.Details?.['long']?.length).toBeLessThan(long.length);
  });
});
