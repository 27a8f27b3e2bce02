import { nodesWriter } from '../node/nodes-writer.js';
import { FakeTime, registrationPrefix, settle } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { ServiceQueries } from './service-queries.js';
import { ServiceRegistrations } from './service-registrations.js';

const WRITER = { timeNs: fixtures.timeNs, requestId: 'test', actor: serviceActor('test') };

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
  const withdraw = (alloc: typeof reader, ServiceName: string) => {
    const of = { NodeID: other.ID, SecretID: other.SecretID, AllocID: alloc.ID };
    return registrations.deregister({ ...of, IDs: [`${registrationPrefix(alloc.ID)}x-${ServiceName}`] });
  };
  const registrations = new ServiceRegistrations(
    state,
    nodesWriter(state, { clock: time, newId: fixtures.freshId, region: 'global' }),
  );
  const offer = (alloc: typeof reader, ServiceName: string, Tags: string[] | null = null) =>
    registrations.register({
      NodeID: other.ID,
      SecretID: other.SecretID,
      AllocID: alloc.ID,
      Services: [
        {
          ID: `${registrationPrefix(alloc.ID)}x-${ServiceName}`,
          ServiceName,
          Tags,
          Address: '10.0.0.1',
          Port: 1,
        },
      ],
    });
  const queries = new ServiceQueries(state, time);
  const asked = (MinQueryIndex: number, { ID, SecretID } = node) => {
    return { NodeID: ID, SecretID, AllocID: reader.ID, MinQueryIndex, MaxQueryTimeMs: 30_000 };
  };
  const read = (ServiceName: string, MinQueryIndex = 0, as = node) =>
    queries.named({ ...asked(MinQueryIndex, as), ServiceName });
  const names = (MinQueryIndex = 0, as = node) => queries.names(asked(MinQueryIndex, as));
  return {
    time,
    state,
    ask: () => asked(0),
    other,
    another: () => on(other.ID, 'team'),
    offering,
    elsewhere,
    offer,
    withdraw,
    queries,
    read,
    names,
  };
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

  it('AG-292: the names of the namespace with all their tags, again when one comes, goes, or has other tags', async () => {
    const { time, another, offering, elsewhere, offer, withdraw, names } = setup();
    await offer(offering, 'web', ['b', 'a']);
    await offer(elsewhere, 'db');
    const web = { Name: 'web', Tags: ['a', 'b'] };
    let known = await names();
    expect(known.Services).toEqual([web]);
    const news = async (change: () => Promise<unknown>) => {
      const waiting = names(known.Index);
      await change();
      known = await waiting;
      return known.Services;
    };
    const second = another();
    expect(await news(() => offer(second, 'web', ['c']))).toEqual([{ Name: 'web', Tags: ['a', 'b', 'c'] }]);
    expect(await news(() => offer(second, 'web', ['b', 'a']))).toEqual([web]);
    expect(await news(() => offer(second, 'db'))).toEqual([{ Name: 'db', Tags: [] }, web]);
    expect(await news(() => withdraw(second, 'db'))).toEqual([web]);
    expect(time.pending).toBe(0);
  });

  it('AG-292: who reads names is not woken by another of the same, as a rollout makes thousands', async () => {
    const { time, another, elsewhere, offering, offer, withdraw, names } = setup();
    await offer(offering, 'web', ['a']);
    const { Index } = await names();
    let isAnswered = false;
    const waiting = names(Index).then((answer) => ((isAnswered = true), answer));
    const second = another();
    await offer(second, 'web', ['a']);
    await withdraw(offering, 'web');
    await offer(elsewhere, 'db');
    await settle();
    expect(isAnswered).toBe(false);
    await time.pass(30_000);
    expect((await waiting).Services).toEqual([{ Name: 'web', Tags: ['a'] }]);
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
    const { other, read, names } = setup();
    await expect(read('db', 0, other)).rejects.toThrow('Permission denied');
    await expect(names(0, other)).rejects.toThrow('Permission denied');
  });

  it('AG-292: services of a name and names are in one order, whichever was registered first', async () => {
    const { another, offering, offer, read, names } = setup();
    for (const alloc of [offering, another(), another(), another()].toReversed()) await offer(alloc, 'db');
    for (const name of ['web', 'cache', 'app', 'zoo', 'mail']) await offer(offering, name);
    const ids = (await read('db')).Services.map(({ ID }) => ID);
    expect(ids).toHaveLength(4);
    expect(ids).toEqual(ids.toSorted());
    expect((await names()).Services.map(({ Name }) => Name)).toEqual(['app', 'cache', 'db', 'mail', 'web', 'zoo']);
  });

  it('AG-292: a read of an allocation that is unknown is refused, and one that waits is answered at the stop', async () => {
    const { time, queries, ask, read } = setup();
    await expect(queries.named({ ...ask(), AllocID: 'unknown', ServiceName: 'db' })).rejects.toThrow('alloc not found');
    const { Index } = await read('db');
    const waiting = read('db', Index);
    queries.stop();
    expect((await waiting).Services).toEqual([]);
    expect(time.pending).toBe(0);
  });

  it('AG-292: an answer has the index of the last registration, and at least 1', async () => {
    const { state, offering, offer, read, names } = setup();
    expect([(await read('db')).Index, (await names()).Index]).toEqual([1, 1]);
    await offer(offering, 'db');
    expect((await read('db')).Index).toBe(state.appliedIndex);
  });

  it('AG-292: a change of another table in its namespace is no news for who reads names', async () => {
    const { time, state, names } = setup();
    void names((await names()).Index);
    await settle();
    const registration = fixtures.aRegistration(fixtures.aJob({ ID: 'new', Namespace: 'team' }), {});
    const propose = draftTxn('JobRegister', registration, { ...WRITER, namespace: 'team' });
    state.tables.namespaces.replace('team', fixtures.aNamespace({ Name: 'team' }));
    await state.propose(propose);
    await settle();
    expect([state.tables.jobs.has('team/new'), time.pending]).toEqual([true, 1]);
  });

  it('AG-292: a change of another table wakes nobody', async () => {
    const { time, state, read } = setup();
    const { Index } = await read('db');
    void read('db', Index);
    await settle();
    const propose = draftTxn('NamespaceUpsert', { Namespaces: [fixtures.aNamespace({ Name: 'new' })] }, WRITER);
    await state.propose(propose);
    await settle();
    expect(time.pending).toBe(1);
  });
});
