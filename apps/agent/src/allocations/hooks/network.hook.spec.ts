import { type NetworkResource, settle } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { aTask, FOREVER, lifecycle, setup } from '../../fixtures/running-allocation.js';
import type { AllocationNetwork, NetworkOrder } from '../../networks/allocation-networks.js';

const STATUS = { InterfaceName: 'eth0', Address: '172.26.64.2', AddressIPv6: '', DNS: null };
const NETWORK: AllocationNetwork = { namespace: '/var/run/netns/a', status: STATUS, isReplacement: false };

const group = (Mode: string, over: Partial<NetworkResource> = {}) => ({
  Networks: [fixtures.aNetwork({ Mode, ...over })],
});

/** Returns networks that record their calls, in one list with the tasks' actions. */
function networksOf(made: () => Promise<AllocationNetwork | null> = async () => NETWORK) {
  const asked: string[] = [];
  const networks = {
    prepare: async ({ mode, args, maker, hostname }: Omit<NetworkOrder, 'ports'>) => {
      asked.push(`prepare ${mode}`, args, `by ${maker} as ${hostname}`);
      return made();
    },
    find: async () => NETWORK,
    release: async () => void asked.push('release'),
  };
  return { asked, networks };
}

describe('the network of an allocation and its tasks', () => {
  it('NW-31, NW-121: it is there before the first task and told to the servers, and goes after the last one', async () => {
    const { asked, networks } = networksOf();
    const tasks = [
      aTask('first', { run_for: '1s' }, lifecycle('prestart')),
      aTask('web', { run_for: '1s' }),
      aTask('after', { run_for: '1s' }, lifecycle('poststop')),
    ];
    const dns = { Servers: ['10.0.0.53'], Searches: ['${node.datacenter}.example'], Options: null };
    const { runner, time, events, states } = setup(tasks, { networks, group: group('bridge', { DNS: dns }) });
    runner.runAllocation();
    await settle();
    expect(asked[0]).toBe('prepare bridge');
    expect(asked[1]).toContain('NOMAD_GROUP_NAME=');
    expect(events('first')).toContain('Started');
    const DNS = { ...dns, Searches: ['dc1.example'] };
    expect(runner.clientUpdate().NetworkStatus).toEqual({ ...STATUS, DNS });
    await time.pass(2_500);
    expect([states()['after'], asked.includes('release')]).toEqual(['running', false]);
    await time.pass(1_000);
    expect([states()['after'], asked.at(-1)]).toEqual(['dead', 'release']);
  });

  it('NW-43: killed while it is being made, it is released when that has come to its end', async () => {
    let finish: (network: AllocationNetwork | null) => void = () => {};
    const { asked, networks } = networksOf(() => new Promise((resolve) => (finish = resolve)));
    const { runner, states } = setup([aTask('web', FOREVER)], { networks, group: group('bridge') });
    runner.runAllocation();
    await settle();
    await runner.kill();
    await settle();
    expect([states()['web'], asked.includes('release')]).toEqual(['dead', false]);
    finish(NETWORK);
    await settle();
    expect(asked.at(-1)).toBe('release');
  });

  it.each([
    ['NW-26', group('host', { Hostname: 'web' }), 'hostname cannot be set on task group using "host" networking mode'],
    ['NW-26', group('bridge', { Hostname: 'web' }), 'hostname is not currently supported on driver mock_driver'],
  ])('%s: a host name where there can be none', async (_, over, reason) => {
    const { networks, asked } = networksOf();
    const { runner } = setup([aTask('web', FOREVER)], { networks, group: over });
    runner.runAllocation();
    await settle();
    const [failure] = runner.clientUpdate().TaskStates['web']!.Events.filter(({ Type }) => Type === 'Setup Failure');
    expect(failure?.DisplayMessage).toBe(`failed to setup alloc: ${reason}`);
    expect(asked.filter((one) => one.startsWith('prepare'))).toEqual([]);
  });

  it('NW-22: a driver that cannot join a namespace fails the allocation', async () => {
    const { networks } = networksOf();
    const { runner, driver } = setup([aTask('web', FOREVER)], { networks, group: group('bridge') });
    Object.assign(driver, { networkIsolation: ['host'] });
    runner.runAllocation();
    await settle();
    expect(runner.clientUpdate().TaskStates['web']!.Events.map((event) => event.DisplayMessage)).toContain(
      'failed to setup alloc: task web does not support "bridge" networking mode',
    );
  });

  it('NW-23: a driver that makes namespaces makes that of a group with its tasks, for those of others too', async () => {
    const sandbox = { container: 'c1' };
    const { asked, networks } = networksOf(async () => ({ ...NETWORK, sandbox }));
    const { runner, driver, records, alloc } = setup([aTask('web', FOREVER)], {
      networks,
      group: group('bridge', { Hostname: 'web-1' }),
    });
    Object.assign(driver, { namespaces: {}, setsHostname: true });
    runner.runAllocation();
    await settle();
    expect(asked).toContain('by mock_driver as web-1');
    expect(records.saved.get(alloc.ID)?.network).toMatchObject({ namespace: NETWORK.namespace, sandbox });
  });

  it('NW-23: two drivers that both make namespaces cannot be in one group', async () => {
    const { asked, networks } = networksOf();
    const tasks = [aTask('web', FOREVER), aTask('db', FOREVER, { Driver: 'other_driver' })];
    const { runner, driver } = setup(tasks, { networks, group: group('bridge') });
    Object.assign(driver, { namespaces: {} });
    runner.runAllocation();
    await settle();
    expect(runner.clientUpdate().TaskStates['web']!.Events.map((event) => event.DisplayMessage)).toContain(
      'failed to setup alloc: tasks web and db want to initiate networking but only one driver can do so',
    );
    expect(asked.filter((one) => one.startsWith('prepare'))).toEqual([]);
  });

  it('NW-37, NW-39: found again by the next agent; made anew, what runs is started again in the new one', async () => {
    const first = networksOf();
    const { runner, records, make, driver, alloc, time } = setup([aTask('web', FOREVER)], {
      networks: first.networks,
      group: group('bridge'),
    });
    runner.runAllocation();
    await settle();
    const record = records.saved.get(alloc.ID)!;
    expect(record.network).toMatchObject({ namespace: NETWORK.namespace, status: STATUS });
    // The servers get the same report until the next agent has checked.
    const next = make(record, driver);
    expect(next.clientUpdate().NetworkStatus).toEqual(STATUS);
    Object.assign(first.networks, { prepare: async () => ({ ...NETWORK, isReplacement: true }) });
    next.runAllocation();
    await settle();
    await time.pass(10_000);
    expect(next.clientUpdate().TaskStates['web']!.Events.map((event) => event.DisplayMessage)).toContain(
      'network namespace was recreated',
    );
  });

  it('NW-28: a machine without namespaces runs it in its own network', async () => {
    const { runner, states } = setup([aTask('web', FOREVER)], { group: group('bridge') });
    runner.runAllocation();
    await settle();
    expect(states()['web']).toBe('running');
  });
});
