import { type AllocCheckStatus, type AllocListStub, decodeJob } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { addressSection, allocationList, checkSection, hasChecks } from './allocation-sections.js';
import { allocationTable, ofJob } from './allocation-table.js';
import { Display } from '../terminal/display.js';
import type { AllocationAnswer } from './task-sections.js';

const SECOND_NS = 1e9;
const HOUR_NS = 3_600 * SECOND_NS;
const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
const NOW_NS = NOW_MS * 1e6;
const brief = new Display(false, NOW_MS);

const jobWith = (group: object, Type = 'batch') =>
  decodeJob({ ID: 'web', Type, TaskGroups: [{ Name: 'a', Tasks: [{ Name: 't', Driver: 'mock_driver' }], ...group }] });
const alloc = (over: Partial<AllocationAnswer>): AllocationAnswer => ({
  ID: '0f9e8d7c-0000-4000-8000-000000000002',
  TaskGroup: 'a',
  CreateTime: NOW_NS - HOUR_NS,
  ModifyTime: NOW_NS,
  ...over,
});
const rowsOf = (text: string): Record<string, string> =>
  Object.fromEntries(text.split('\n').map((line) => line.split(/ += /) as [string, string]));
const listed = (over: Partial<AllocationAnswer>, rescheduleTime?: number) =>
  rowsOf(allocationList(alloc(over), brief, rescheduleTime));

describe('the list of an allocation', () => {
  it('CL-402: attempts to reschedule within the interval, of those that are allowed', () => {
    const event = (agoNs: number) => ({ RescheduleTime: NOW_NS - agoNs, PrevAllocID: '', PrevNodeID: '', Delay: 0 });
    const RescheduleTracker = { Events: [event(30 * HOUR_NS), event(HOUR_NS), event(SECOND_NS)], LastReschedule: 'ok' };
    const limited = jobWith({ ReschedulePolicy: { Attempts: 3, Interval: 24 * HOUR_NS, Unlimited: false } });
    expect(listed({ Job: limited, RescheduleTracker })).toMatchObject({ 'Reschedule Attempts': '2/3' });
    const unlimited = jobWith({ ReschedulePolicy: { Unlimited: true } });
    expect(listed({ Job: unlimited, RescheduleTracker })).not.toHaveProperty('Reschedule Attempts');
    expect(listed({ Job: limited })).not.toHaveProperty('Reschedule Attempts');
  });

  it('CL-402: when a failed one will be replaced', () => {
    expect(listed({}, NOW_NS + 90 * SECOND_NS)).toMatchObject({ 'Reschedule Eligibility': '1m30s from now' });
    expect(listed({})).not.toHaveProperty('Reschedule Eligibility');
  });

  it('CL-402: the deadline of a batch job', () => {
    expect(listed({ Job: jobWith({ MaxRunDuration: 2 * HOUR_NS }) })).toMatchObject({
      'Max Run Deadline': '1h from now',
    });
    expect(listed({ Job: jobWith({}) })).not.toHaveProperty('Max Run Deadline');
  });
});

describe('tables of allocations', () => {
  const stubs = ['a', 'b'].map((TaskGroup, n) => ({ ...alloc({ TaskGroup }), ID: `${n}`, JobVersion: 0 }));
  const table = (job: ReturnType<typeof jobWith> | null) =>
    allocationTable(ofJob(stubs as unknown as AllocListStub[], job), brief).split('\n');

  it('CL-232: a last column of deadlines if at least one has one', () => {
    const [header, limited, other] = table(jobWith({ MaxRunDuration: 2 * HOUR_NS }));
    expect(header).toMatch(/Modified {2,}Max Run Deadline$/);
    expect(limited).toMatch(/ {2}1h from now$/);
    expect(other).toMatch(/ {2}<none>$/);
  });

  it.each([
    ['no limit', jobWith({})],
    ['a job that may not have one', { ...jobWith({ MaxRunDuration: HOUR_NS }), Type: 'service' as const }],
    ['no job at hand', null],
  ])('CL-232 CL-233: none with %s', (_, job) => {
    expect(table(job)[0]).toMatch(/Modified$/);
  });
});

describe('sections of an allocation', () => {
  const port = (Label: string, Value: number, To: number) => ({
    Label,
    Value,
    To,
    HostIP: '10.0.0.1',
    HostNetwork: '',
  });
  const withPorts = (Mode: string) =>
    alloc({
      AllocatedResources: {
        Shared: {
          Ports: [port('http', 20_000, 80), port('admin', 9_000, 0)],
          Networks: [{ Mode, ReservedPorts: [{ Label: 'admin', Value: 9_000 }] }],
        },
      } as unknown as NonNullable<AllocationAnswer['AllocatedResources']>,
    });

  it('CL-403: the ports of the group, and whether they were asked for', () => {
    expect(addressSection(withPorts('bridge'))).toEqual({
      title: 'Allocation Addresses (mode = "bridge"):',
      text: [
        'Label   Dynamic  Address',
        '*http   yes      10.0.0.1:20000 -> 80',
        '*admin  no       10.0.0.1:9000',
      ].join('\n'),
    });
    expect(addressSection(withPorts(''))?.title).toBe('Allocation Addresses:');
    expect(addressSection(alloc({}))).toBeUndefined();
  });

  it('CL-404: checks sorted, those of group services as (group)', () => {
    const check = (Service: string, Check: string, Task = ''): AllocCheckStatus =>
      ({ Service, Check, Task, Mode: 'healthiness', Status: 'success' }) as AllocCheckStatus;
    const { title, text } = checkSection([check('web', 'ping', 'server'), check('web', 'alive'), check('api', 'up')]);
    expect(title).toBe('Nomad Service Checks:');
    expect(text.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['Service', 'Task', 'Name', 'Mode', 'Status'],
      ['api', '(group)', 'up', 'healthiness', 'success'],
      ['web', '(group)', 'alive', 'healthiness', 'success'],
      ['web', 'server', 'ping', 'healthiness', 'success'],
    ]);
  });

  it('CL-404: they are asked for only of what has some', () => {
    const Checks = [{ Type: 'tcp', Interval: 1e10, Timeout: 1e9 }];
    const serves = (Provider: string, checks: object[]) =>
      hasChecks(alloc({ Job: jobWith({ Services: [{ Name: 's', Provider, Checks: checks }] }) }));
    expect([serves('nomad', Checks), serves('nomad', []), serves('consul', Checks)]).toEqual([true, false, false]);
    expect(hasChecks(alloc({}))).toBe(false);
  });
});
