import { nodesWriter } from '../node/nodes-writer.js';
import { FakeTime, registrationPrefix } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { MAX_SERVICES_PER_CALL, ServiceRegistrations } from './service-registrations.js';

function setup() {
  const state = new LocalState(fixtures.aMachine());
  const [node, other] = [fixtures.aNode(), fixtures.aNode()];
  for (const Node of [node, other]) fixtures.apply(state.machine, 'NodeRegister', { Node, CreateNodePool: false });
  const alloc = fixtures.anAlloc({ NodeID: node.ID, Namespace: 'team', JobID: 'shop', ClientStatus: 'running' });
  state.tables.allocs.replace(alloc.ID, alloc);
  const services = new ServiceRegistrations(
    state,
    nodesWriter(state, { clock: new FakeTime(fixtures.timeNs / 1e6), newId: fixtures.freshId, region: 'global' }),
  );
  const ID = `${registrationPrefix(alloc.ID)}web-http-http`;
  const Services = [{ ID, ServiceName: 'http', Tags: ['blue'], Address: '10.0.0.1', Port: 8080 }];
  const as = ({ ID: NodeID, SecretID }: typeof node) => ({ NodeID, SecretID, AllocID: alloc.ID });
  const stored = () => [...state.tables.service_registrations.all()];
  return { state, node, other, alloc, services, ID, Services, as, stored };
}

describe('registrations of services by agents', () => {
  it('AG-140: whose a registration is follows from the allocation', async () => {
    const { node, alloc, services, ID, Services, as, stored } = setup();
    const { Index } = await services.register({ ...as(node), Services });
    expect(stored()).toEqual([
      {
        ID,
        ServiceName: 'http',
        Namespace: 'team',
        NodeID: node.ID,
        Datacenter: node.Datacenter,
        JobID: 'shop',
        AllocID: alloc.ID,
        Tags: ['blue'],
        Address: '10.0.0.1',
        Port: 8080,
        CreateIndex: Index,
        ModifyIndex: Index,
      },
    ]);
  });

  it('a name that no index could hold is refused with the place where it stands', async () => {
    const { node, services, Services, as, stored } = setup();
    const long = Services.map((service) => ({ ...service, ServiceName: 'x'.repeat(513) }));
    await expect(services.register({ ...as(node), Services: long })).rejects.toThrow(
      'invalid Services.0.ServiceName: more than 512 bytes',
    );
    expect(stored()).toEqual([]);
  });

  it('AG-142: a removal that finds nothing is a success', async () => {
    const { state, node, services, ID, Services, as, stored } = setup();
    await services.register({ ...as(node), Services });
    expect(await services.deregister({ ...as(node), IDs: [ID] })).toEqual({ Index: state.appliedIndex });
    expect(stored()).toEqual([]);
    const malformed = services.deregister({ ...as(node), IDs: [7] as never });
    await expect(malformed).rejects.toMatchObject({ name: 'Refusal', code: 'invalid' });
    await expect(services.deregister({ ...as(node), IDs: [ID] })).resolves.toBeDefined();
  });

  it('ND-39: only the machine of the allocation may, with its own secret and for its own ids', async () => {
    const { state, node, other, services, ID, Services, as, stored } = setup();
    await services.register({ ...as(node), Services });
    const before = state.appliedIndex;
    const denied = 'Permission denied';
    const IDs = [ID];
    await expect(services.register({ ...as(other), Services })).rejects.toThrow(denied);
    await expect(services.deregister({ ...as(other), IDs })).rejects.toThrow(denied);
    await expect(services.deregister({ ...as(node), SecretID: 'x', IDs })).rejects.toThrow(denied);
    const foreign = [`${registrationPrefix(fixtures.freshId())}web-http-http`];
    await expect(services.deregister({ ...as(node), IDs: foreign })).rejects.toThrow(denied);
    expect(state.appliedIndex).toBe(before);
    expect(stored()).toHaveLength(1);
  });

  it('of an allocation nobody knows nothing is registered, and an empty call is refused', async () => {
    const { node, services, as } = setup();
    const AllocID = fixtures.freshId();
    const ID = `${registrationPrefix(AllocID)}web-http-http`;
    const Services = [{ ID, ServiceName: 'http', Tags: null, Address: '', Port: 0 }];
    await expect(services.register({ ...as(node), AllocID, Services })).rejects.toThrow('alloc not found');
    await expect(services.register({ ...as(node), Services: [] })).rejects.toThrow('no services given');
  });

  it('ST-14: five hundred services fit into one call, and not one more', async () => {
    const { node, services, ID, Services, as, stored } = setup();
    const many = (count: number) => Array.from({ length: count }, (_, n) => ({ ...Services[0]!, ID: `${ID}-${n}` }));
    await expect(services.register({ ...as(node), Services: many(501) })).rejects.toThrow(
      'too many services in one call',
    );
    await services.register({ ...as(node), Services: many(500) });
    expect([MAX_SERVICES_PER_CALL, stored().length]).toEqual([500, 500]);
  });

  it('AG-142, ST-96: of an allocation that is gone there is nothing to remove', async () => {
    const { state, node, alloc, services, ID, as } = setup();
    state.tables.allocs.replace(alloc.ID, undefined);
    const before = state.appliedIndex;
    expect(await services.deregister({ ...as(node), IDs: [ID] })).toEqual({ Index: 0 });
    expect(state.appliedIndex).toBe(before);
  });

  it('ND-39: one registration of another allocation among others is refused with all of them', async () => {
    const { node, services, Services, as, stored } = setup();
    const foreign = { ...Services[0]!, ID: `${registrationPrefix('other')}web` };
    for (const mixed of [
      [...Services, foreign],
      [foreign, ...Services],
    ])
      await expect(services.register({ ...as(node), Services: mixed })).rejects.toThrow('Permission denied');
    expect(stored()).toEqual([]);
  });

  it('AG-142: a removal that the log does not take fails', async () => {
    const { state, node, services, ID, Services, as } = setup();
    await services.register({ ...as(node), Services });
    state.failure = new Error('no log');
    await expect(services.deregister({ ...as(node), IDs: [ID] })).rejects.toThrow('no log');
  });
});
