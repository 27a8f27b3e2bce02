import { type Node, Refusal } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import {
  checkAllocIds,
  checkAllocList,
  checkAllocUpdates,
  checkNode,
  checkNodeEvents,
  checkRegistrationIds,
  checkSelfDrain,
  checkServices,
} from './machine-shapes.js';

const anUpdate = (over: object = {}) => ({ ...fixtures.aClientUpdate(fixtures.anAlloc()), ...over });
const aNodeWith = (over: object): unknown => ({ ...fixtures.aNode(), ...over });

function refusal(check: () => void): string {
  try {
    check();
  } catch (error) {
    if (error instanceof Refusal && error.code === 'invalid') return error.message;
    throw error;
  }
  return 'it is taken';
}

describe('what machines send', () => {
  it('is taken as they send it, also with members that nobody knows yet', () => {
    expect(refusal(() => checkNode(aNodeWith({ Newer: { of: 'a later release' } })))).toBe('it is taken');
    expect(refusal(() => checkAllocUpdates([anUpdate({ Newer: 1 })]))).toBe('it is taken');
  });

  it.each<[keyof Node, unknown]>([
    ['HostVolumes', undefined],
    ['Attributes', { 'cpu.arch': 5 }],
    ['Meta', { rack: null }],
    ['NodeResources', {}],
    ['ReservedResources', null],
    ['Drivers', { raw_exec: true }],
    ['CSINodePlugins', { disks: { PluginID: 'disks' } }],
    ['Events', null],
    ['SchedulingEligibility', 'perhaps'],
    ['NodeMaxAllocs', '10'],
  ])(
    'ST-8, ND-26: a description whose %s is %j is refused before it is in the log, and says where',
    (member, value) => {
      expect(refusal(() => checkNode(aNodeWith({ [member]: value })))).toMatch(new RegExp(`^invalid Node\\.${member}`));
    },
  );

  it.each<[string, object]>([
    ['TaskStates', { TaskStates: null }],
    ['TaskStates.web.Events', { TaskStates: { web: { State: 'running' } } }],
    ['ClientStatus', { ClientStatus: 'gone' }],
    ['DeploymentStatus', { DeploymentStatus: true }],
  ])('ST-8, ND-104: so is an update of an allocation whose %s is of another type', (path, over) => {
    const said = refusal(() => checkAllocUpdates([anUpdate(), anUpdate(over)]));
    expect(said).toMatch(/^invalid Allocs\.1\./);
    expect(said).toContain(path.split('.')[0]);
  });

  it.each(['lost', 'unknown'])('ND-110: that it is %s, no machine can say of an allocation', (ClientStatus) => {
    expect(refusal(() => checkAllocUpdates([anUpdate({ ClientStatus })]))).toMatch(/^invalid Allocs\.0\.ClientStatus/);
  });

  it('ST-8, ND-40: so is a list that is none, and a drain without its members', () => {
    expect(refusal(() => checkAllocList(undefined))).toBe('it is taken');
    for (const sent of [5, {}, 'all']) expect(refusal(() => checkAllocList(sent))).toMatch(/^invalid Allocs/);
    for (const sent of [undefined, null, 5, [5]])
      expect(refusal(() => checkAllocIds(sent))).toMatch(/^invalid AllocIDs/);
    for (const sent of [undefined, 'a', [null]])
      expect(refusal(() => checkRegistrationIds(sent))).toMatch(/^invalid IDs/);
    const drain = { RequestID: 'a', DrainSpec: { Deadline: 0, IgnoreSystemJobs: false }, Meta: {} };
    expect(refusal(() => checkSelfDrain(drain))).toBe('it is taken');
    for (const over of [{ DrainSpec: null }, { DrainSpec: { Deadline: 'soon' } }, { Meta: [5] }, { RequestID: 5 }])
      expect(refusal(() => checkSelfDrain({ ...drain, ...over }))).toMatch(/^invalid drain\./);
  });

  it('ST-8, ND-160: so are events and services', () => {
    expect(refusal(() => checkNodeEvents([{ Message: 'up' }]))).toMatch(/^invalid Events\.0\./);
    expect(refusal(() => checkNodeEvents({ length: 1 }))).toMatch(/^invalid Events: /);
    const service = { ID: 'a', ServiceName: 'web', Tags: [], Address: '10.0.0.1', Port: 80 };
    expect(refusal(() => checkServices([service]))).toBe('it is taken');
    expect(refusal(() => checkServices([{ ...service, Tags: 'blue' }]))).toBe(
      'invalid Services.0.Tags: Invalid input: expected array, received string',
    );
  });
});
