import { nodesWriter } from '../node/nodes-writer.js';
import { termOf } from '@waybill/roles';
import { type CancelTimer, type Clock, msFromNs, type Node, settle, type Timers } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { fixtures } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { DEFAULT_PACE } from './heartbeat-ttl.js';
import { Heartbeats } from './heartbeats.js';
import { NodeEvaluations } from '../node/node-evaluations.js';

const SECOND = 1_000;
const NODES = 5_000;
/** Between the death of one holder and the beginning of the next. */
const WITHOUT_HOLDER_MS = 5 * SECOND;
/** An agent that nobody answers asks again about this soon (AG-35 and its neighbours). */
const RETRY_MS = 3 * SECOND;

/** Time in whole seconds, for tens of thousands of timers. */
class Seconds implements Clock, Timers {
  private now = 0;
  private readonly due = new Map<number, Set<() => void>>();

  nowMs(): number {
    return this.now;
  }

  after(delayMs: number, run: () => void): CancelTimer {
    const at = Math.max(this.now + SECOND, Math.ceil((this.now + delayMs) / SECOND) * SECOND);
    const timers = this.due.get(at) ?? new Set();
    this.due.set(at, timers.add(run));
    return () => timers.delete(run);
  }

  async pass(ms: number): Promise<void> {
    for (const until = this.now + ms; this.now < until;) {
      this.now += SECOND;
      const timers = this.due.get(this.now);
      this.due.delete(this.now);
      for (const run of timers ?? []) run();
      await settle();
    }
  }
}

it(`ND-206, ND-78: ${NODES} nodes are heartbeating and the holder is killed: no node is lost for it`, async () => {
  const time = new Seconds();
  const state = new LocalState(fixtures.aMachine());
  let seed = 7;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  let holder: Heartbeats | undefined;
  state.onApplied((applied) => holder?.applied(applied));
  const lead = (epoch: number): void => {
    fixtures.apply(state.machine, 'LeaseAcquired', { Role: 'nodes', Epoch: epoch, Holder: `holder-${epoch}` });
    const writer = nodesWriter(state, { clock: time, newId: fixtures.freshId, region: 'global' });
    const evaluations = new NodeEvaluations(state, writer);
    const shared = { state, writer, evaluations, clock: time, timers: time, random };
    holder = new Heartbeats({ ...shared, pace: DEFAULT_PACE, logger: silentLogger });
    holder.start(termOf('nodes', epoch));
  };
  let refused = 0;
  let answered = 0;
  const beat = async ({ ID, SecretID }: Node): Promise<void> => {
    const again = (ms: number): CancelTimer => time.after(ms, () => void beat({ ID, SecretID } as Node));
    try {
      if (!holder) throw new Error('no responder');
      again(msFromNs((await holder.heartbeat({ NodeID: ID, SecretID, Status: 'ready' })).HeartbeatTTL));
      answered++;
    } catch {
      refused++;
      again(RETRY_MS + random() * RETRY_MS);
    }
  };
  for (let i = 0; i < NODES; i++) {
    const node = fixtures.aNode();
    fixtures.apply(state.machine, 'NodeRegister', { Node: node, CreateNodePool: false });
    time.after(random() * 60 * SECOND, () => void beat(node));
  }
  lead(1);
  await time.pass(150 * SECOND);
  holder?.stop(); // killed: its timers end with it
  holder = undefined;
  await time.pass(WITHOUT_HOLDER_MS);
  lead(2);
  await time.pass(DEFAULT_PACE.failoverTtlMs + 200 * SECOND);

  const ready = [...state.tables.nodes.all()].filter((node) => node.Status === 'ready');
  expect(ready).toHaveLength(NODES);
  expect(state.history).toEqual([]); // heartbeats that change nothing, and nobody missed
  expect(refused).toBeGreaterThan(0);
  expect(answered).toBeGreaterThan(3 * NODES);
}, 60_000);
