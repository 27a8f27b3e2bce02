import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect, ensureStreams, initialise, Journal, type NatsLink } from '@waybill/journal';
import type { Stack } from '@waybill/embedded';
import { LEASE_TABLES, LEASE_TXNS } from '@waybill/roles';
import { BatchWriter, migrate, openPool, PostgresSnapshots } from '@waybill/projection';
import { Replica, ReplicaBehindError } from '@waybill/replica';
import { newUuid, systemClock, systemTimers } from '@waybill/service';
import {
  type Applied,
  draftTxn,
  fixtures,
  serviceActor,
  StateMachine,
  stateDigest,
  type TxnPayloads,
  type TxnType,
} from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { startEmptyStack } from '../support/begun-databases.js';

let stack: Stack;
let link: NatsLink;
let journal: Journal;
const replicas: Replica[] = [];

beforeAll(async () => {
  stack = await startEmptyStack();
  link = await connect({ url: stack.natsUrl, name: 'test' });
  await ensureStreams(link, { replicas: 1 });
  journal = new Journal(link);
  await initialise(journal, { region: 'global', clock: systemClock, newId: newUuid });
});

afterAll(async () => {
  for (const replica of replicas) await replica.stop();
  await link.close();
  await stack.stop();
});

async function started(
  snapshots: { load(machine: StateMachine): Promise<number> } | null = null,
  types?: ReadonlySet<TxnType>,
): Promise<Replica> {
  const replica = new Replica({
    log: journal,
    snapshots,
    ...(types && { types }),
    timers: systemTimers,
    logger: silentLogger,
    onFatal: (error) => {
      throw error;
    },
  });
  replicas.push(replica);
  await replica.start();
  return replica;
}

const draft = <T extends TxnType>(type: T, payload: TxnPayloads[T], requestId = newUuid()) =>
  draftTxn(type, payload, { timeNs: Date.now() * 1e6, requestId, actor: serviceActor('test'), namespace: 'default' });

it('ST-9: a proposer gets the verdict of its own transaction from its own copy', async () => {
  const replica = await started();
  const node = fixtures.aNode();
  const accepted = await replica.propose(draft('NodeRegister', { Node: node, CreateNodePool: false }));
  expect(accepted.verdict.kind).toBe('accepted');
  expect(replica.tables.nodes.get(node.ID)?.CreateIndex).toBe(accepted.index);
  const refused = await replica.propose(draft('NodeDeregister', { NodeID: 'nobody' }));
  expect(refused.verdict).toMatchObject({ kind: 'refused', error: 'node not found: nobody' });
});

it('ST-6, ST-183: a proposal repeated with its request id is one transaction', async () => {
  const replica = await started();
  const again = draft('NodeRegister', { Node: fixtures.aNode(), CreateNodePool: false });
  const first = await replica.propose(again);
  const second = await replica.propose(again);
  expect(second.index).toBe(first.index);
  expect(second.verdict.kind).toBe('accepted');
});

it('ST-142: waiting for an index ends when it is applied, or with an error that names it', async () => {
  const replica = await started();
  const waiting = replica.waitFor(replica.appliedIndex + 1, 5_000);
  const { index } = await replica.propose(draft('Ignore', {}));
  await waiting;
  expect(replica.appliedIndex).toBeGreaterThanOrEqual(index);
  await expect(replica.waitFor(index + 100, 20)).rejects.toBeInstanceOf(ReplicaBehindError);
});

it('ST-3: two copies that follow the same log are equal', async () => {
  const one = await started();
  for (let i = 0; i < 50; i++)
    await one.propose(draft('NodeRegister', { Node: fixtures.aNode(), CreateNodePool: false }));
  const other = await started();
  await other.waitFor(one.appliedIndex, 5_000);
  expect(digestOf(other)).toBe(digestOf(one));
});

it('replays from the beginning when there is no snapshot to be had', async () => {
  const replica = await started({ load: () => Promise.reject(new Error('Postgres is down')) });
  expect(replica.ready).toBe(true);
  expect(replica.tables.namespaces.has('default')).toBe(true);
});

it('ST-15: a copy for leases alone starts from leases alone, and follows who takes which role', async () => {
  const whole = await started();
  const acquire = (Epoch: number) => whole.propose(draft('LeaseAcquired', { Role: 'nodes', Epoch, Holder: 'h' }));
  await acquire(1);
  await migrate(stack.databaseUrl);
  const pool = openPool(stack.databaseUrl);
  await new BatchWriter(pool).write(await appliedUpTo(whole.appliedIndex));
  const leases = await started(new PostgresSnapshots(pool, LEASE_TABLES), LEASE_TXNS);
  expect([leases.appliedIndex, leases.epochOf('nodes')]).toEqual([whole.appliedIndex, 1]);
  const { index } = await acquire(2);
  await leases.waitFor(index, 5_000);
  expect(leases.epochOf('nodes')).toBe(2);
  expect([leases.tables.nodes.size, leases.tables.namespaces.size]).toEqual([0, 0]);
  await pool.end();
});

/** The log from its beginning, as a projector applies it. */
async function appliedUpTo(index: number): Promise<Applied[]> {
  const machine = new StateMachine();
  const applied: Applied[] = [];
  const follower = await journal.follow({
    from: 1,
    onTxns: (txns) => void applied.push(...txns.map((txn) => machine.apply(txn))),
    onError: (error) => {
      throw error;
    },
  });
  await follower.caughtUp;
  await follower.stop();
  return applied.slice(0, index);
}

const digestOf = (replica: Replica): string => stateDigest(replica);
