import { nodesWriter } from './nodes-writer.js';
import { FakeTime, type NodeEvent } from '@waybill/model';
import { LocalState } from '@waybill/replica';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { MAX_EVENTS_PER_REPORT, NodeEvents } from './node-events.js';

const KEPT = MAX_EVENTS_PER_REPORT;

function setup() {
  const state = new LocalState(fixtures.aMachine());
  const events = new NodeEvents(
    state,
    nodesWriter(state, { clock: new FakeTime(fixtures.timeNs / 1e6), newId: fixtures.freshId, region: 'global' }),
  );
  const node = fixtures.aNode();
  fixtures.apply(state.machine, 'NodeRegister', { Node: node, CreateNodePool: false });
  const emit = (...messages: string[]) =>
    events.emit({ NodeID: node.ID, SecretID: node.SecretID, Events: messages.map(anEvent) });
  const stored = () => state.tables.nodes.get(node.ID)!;
  return { state, events, node, emit, stored };
}

const anEvent = (Message: string): NodeEvent => ({
  Message,
  Subsystem: 'Driver',
  Details: { driver: 'docker' },
  Timestamp: '2026-01-01T00:00:00Z',
  CreateIndex: 0,
});

describe('events that agents report', () => {
  it('ND-160: none, those of another node and those of a node that is gone are refused, and nothing is written', async () => {
    const { state, events, node } = setup();
    const before = state.appliedIndex;
    const { ID: NodeID, SecretID } = node;
    await expect(events.emit({ NodeID, SecretID, Events: [] })).rejects.toThrow(
      `no node events given for node "${NodeID}"`,
    );
    const Events = [anEvent('hello')];
    for (const proof of [
      { NodeID, SecretID: fixtures.freshId() },
      { NodeID: fixtures.freshId(), SecretID },
    ])
      await expect(events.emit({ ...proof, Events })).rejects.toThrow('Permission denied');
    expect(state.appliedIndex).toBe(before);
  });

  it('ND-161: appended in order with the index of the write, which is one of the table and not of the node', async () => {
    const { state, emit, stored } = setup();
    const { ModifyIndex } = stored();
    const { Index } = await emit('one', 'two');
    expect(stored().Events.slice(-2)).toMatchObject([
      { Message: 'one', CreateIndex: Index },
      { Message: 'two', CreateIndex: Index },
    ]);
    expect([stored().ModifyIndex, state.tables.nodes.tableIndex]).toEqual([ModifyIndex, Index]);
  });

  it('ND-162: the newest ten are kept, whoever adds the eleventh', async () => {
    const { state, node, emit, stored } = setup();
    const messages = Array.from({ length: KEPT + 1 }, (_, n) => `event ${n}`);
    for (const message of messages) await emit(message);
    expect(stored().Events.map((event) => event.Message)).toEqual(messages.slice(1));
    fixtures.apply(state.machine, 'NodeUpdateStatus', {
      NodeID: node.ID,
      Status: 'down',
      UpdatedAt: 1,
      NodeEvent: anEvent('of the server'),
      IdentitySigningKeyID: '',
    });
    expect(stored().Events.map((event) => event.Message)).toEqual([...messages.slice(2), 'of the server']);
  });

  it('ND-161: of more than ten in one report the last ten are written', async () => {
    const { state, emit, stored } = setup();
    await emit(...Array.from({ length: MAX_EVENTS_PER_REPORT + 2 }, (_, n) => `event ${n}`));
    const messages = stored()
      .Events.map(({ Message }) => Message)
      .filter((text) => text.startsWith('event'));
    expect(messages.slice(-MAX_EVENTS_PER_REPORT)).toEqual(
      Array.from({ length: 10 }, (_, n) => `event ${n + 2}`).slice(-messages.length),
    );
    expect(messages).not.toContain('event 1');
    const { payload } = state.history.at(-1)!.txn as { payload: { NodeEvents: Record<string, NodeEvent[]> } };
    expect(Object.values(payload.NodeEvents).map((written) => written.length)).toEqual([MAX_EVENTS_PER_REPORT]);
  });

  it('ND-160: what is no event is refused, and the node that was stored without a secret proves nothing', async () => {
    const { state, events, node, stored } = setup();
    const { ID: NodeID, SecretID } = node;
    const malformed = events.emit({ NodeID, SecretID, Events: [{ ...anEvent('x'), Message: 7 as never }] });
    await expect(malformed).rejects.toMatchObject({ name: 'Refusal', code: 'invalid' });
    state.tables.nodes.replace(NodeID, { ...stored(), SecretID: '' });
    const unproven = events.emit({ NodeID, SecretID: '', Events: [anEvent('x')] });
    await expect(unproven).rejects.toThrow('Permission denied');
  });
});
