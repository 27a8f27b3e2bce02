import { expect, it } from 'vitest';
import type { NodeListStub } from '../../api/contract.js';
import { driversInWords, filteredNodes, readNodeFilter, stateOfNode } from './node-list-filter.js';

const node = (Name: string, of: Partial<NodeListStub> = {}) =>
  ({
    Name,
    ID: Name,
    Address: '10.0.0.1',
    NodePool: 'default',
    Status: 'ready',
    Drain: false,
    SchedulingEligibility: 'eligible',
    ...of,
  }) as NodeListStub;

it('a machine is called what it is for new work', () => {
  expect(stateOfNode(node('a'))).toBe('ready');
  expect(stateOfNode(node('a', { SchedulingEligibility: 'ineligible' }))).toBe('ineligible');
  expect(stateOfNode(node('a', { SchedulingEligibility: 'ineligible', Drain: true }))).toBe('draining');
  expect(stateOfNode(node('a', { Status: 'down', Drain: true }))).toBe('down');
});

it('machines are found by name, address, state and pool, and stand by name', () => {
  const all = [node('b'), node('a', { Address: '10.0.0.7', NodePool: 'gpu' }), node('c', { Status: 'down' })];
  const names = (search: object) => filteredNodes(all, readNodeFilter({ ...search })).map(({ Name }) => Name);
  expect(names({})).toEqual(['a', 'b', 'c']);
  expect(names({ search: '0.7' })).toEqual(['a']);
  expect(names({ status: 'down' })).toEqual(['c']);
  expect(names({ pool: 'gpu', status: 'down' })).toEqual([]);
});

it('drivers that do not work are not named', () => {
  const driver = (Healthy: boolean) => ({ Detected: true, Healthy }) as never;
  expect(driversInWords({ exec: driver(true), docker: driver(false), raw_exec: driver(true) })).toBe('exec, raw_exec');
  expect(driversInWords(null)).toBe('none');
});
