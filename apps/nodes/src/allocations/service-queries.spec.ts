import { FakeTime, registrationPrefix, settle } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { ServiceQueries } from './service-queries.js';
import { ServiceRegistrations } from './service-registrations.js';

function setup() {
  const state = new LocalState(fixtures.aMachine());
  const time = new FakeTime(fixtures.timeNs / 1e6);
  const [node, other] = [fixtures.aNode(), fixtures.aNode()];
  for (const Node of [node, other]) fixtures.apply(state.machine, 'NodeRegister', { Node, CreateNodePool: false });
  const on = (NodeID: string, Namespace: string) => {
    const alloc = fixtures.anAlloc({ NodeID, Namespace, ClientStatus: 'running' });
    state.tables.allocs.replace(alloc.ID, alloc);
    return alloc;
  };
  const [reader, offering, elsewhere] = [on(node.ID, 'team'), on(other.ID, 'team'), on(other.ID, 'rest')];
  const registrations = new ServiceRegistrations(state, time, fixtures.freshId);
  const offer = (alloc: typeof reader, ServiceName: string) =>
    registrations.register({
      NodeID: other.ID,
      SecretID: other.SecretID,
      AllocID: alloc.ID,
      Services: [
        {
          ID: `${registrationPrefix(alloc.ID)}x-${ServiceName}`,
          ServiceName,
          Tags: null,
          Address: '10.0.0.1',
          Port: 1,
        },
      ],
    });
  const queries = new ServiceQueries(state, time);
  const read = (ServiceName: string, MinQueryIndex = 0, as = node, MaxQueryTimeMs = 30_000) =>
    queries.named({
      NodeID: as.ID,
      SecretID: as.SecretID,
      AllocID: reader.ID,
      ServiceName,
      MinQueryIndex,
      MaxQueryTimeMs,
    });
  return { time, node, other, offering, elsewhere, offer, queries, read };
}

describe('what templates read of services', () => {
  it('AG-292: the services of a name in the namespace of the allocation, and no others', async () => {
    const { offering, elsewhere, offer, read } = setup();
    await offer(offering, 'db');
    await offer(offering, 'web');
    await offer(elsewhere, 'db');
    expect((await read('db')).Services).toMatchObject([{ ServiceName: 'db', Namespace: 'team' }]);
    expect((await read('none')).Services).toEqual([]);
  });

  it('AG-292: a read that knows what there is waits for a change of its service', async () => {
    const { time, offering, offer, read } = setup();
    const { Index } = await read('db');
    let answered = 0;
    const waiting = read('db', Index).then((answer) => ((answered = answer.Services.length + 1), answer));
    await offer(offering, 'web');
    await settle();
    expect(answered).toBe(0);
    await offer(offering, 'db');
    expect((await waiting).Services).toHaveLength(1);
    expect(time.pending).toBe(0);
  });

  it('a wait ends with its time, or with the process', async () => {
    const { time, queries, read } = setup();
    const { Index } = await read('db');
    const patient = read('db', Index);
    await time.pass(30_000);
    expect((await patient).Services).toEqual([]);
    const stopped = read('db', Index);
    queries.stop();
    expect((await stopped).Services).toEqual([]);
  });

  it('ND-39: only the machine of the allocation may ask', async () => {
    const { other, read } = setup();
    await expect(read('db', 0, other)).rejects.toThrow('Permission denied');
  });
});
