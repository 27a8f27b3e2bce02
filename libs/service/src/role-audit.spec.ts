import { FakeTime, settle } from '@waybill/model';
import { type Call, MAX_ROLE_EVENTS, type RoleEvent, type Rpc, RpcUnavailableError } from '@waybill/rpc';
import { silentLogger } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import { HAND_OVER_AGAIN_MS, MAX_WAITING_ROLE_EVENTS, type NewRoleEvent, RoleAudit } from './role-audit.js';

const refused = (NodeID: string): NewRoleEvent => ({
  Kind: 'registration',
  NodeID,
  NodeName: 'm1',
  Error: { Code: 'forbidden', Text: 'no' },
});

/** An API that takes at most `most` events of a call, or that does not exist. */
function setup() {
  const time = new FakeTime();
  const api = { most: MAX_ROLE_EVENTS as number | undefined, calls: 0, taken: [] as RoleEvent[] };
  const rpc: Pick<Rpc, 'ask'> = {
    async ask<Req, Res>(call: Call<Req, Res>, request: Req): Promise<Res> {
      api.calls++;
      const { most } = api;
      await Promise.resolve();
      if (most === undefined) throw new RpcUnavailableError(call.name, 'no responder');
      const taken = (request as unknown as RoleEvent[]).slice(0, most);
      api.taken.push(...taken);
      return { Taken: taken.length } as Res;
    },
  };
  let [ids, dropped] = [0, 0];
  const audit = new RoleAudit({
    rpc,
    clock: time,
    timers: time,
    newId: () => `e${ids++}`,
    logger: silentLogger,
    dropped: () => dropped++,
  });
  const nodes = (): (string | undefined)[] => api.taken.map((event) => ('NodeID' in event ? event.NodeID : undefined));
  return { time, api, audit, nodes, dropped: () => dropped };
}

describe('the hand-over of events to an API', () => {
  it('AU-281: events arrive once, in order, with an ID and the time at which they happened', async () => {
    const { time, api, audit } = setup();
    audit.record(refused('a'));
    audit.record(refused('b'));
    await settle();
    expect(api.taken).toEqual([
      { ...refused('a'), ID: 'e0', TimeMs: time.nowMs() },
      { ...refused('b'), ID: 'e1', TimeMs: time.nowMs() },
    ]);
    await time.pass(10 * HAND_OVER_AGAIN_MS);
    expect(api.calls).toBe(2);
  });

  it('AU-281: while there is no API, events wait, and those that it did not write are sent again', async () => {
    const { time, api, audit, nodes } = setup();
    api.most = undefined;
    for (const id of ['a', 'b', 'c']) audit.record(refused(id));
    await time.pass(HAND_OVER_AGAIN_MS);
    expect([api.calls, nodes()]).toEqual([2, []]);
    api.most = 0; // it cannot write
    await time.pass(HAND_OVER_AGAIN_MS);
    api.most = 2;
    await time.pass(HAND_OVER_AGAIN_MS);
    expect(nodes()).toEqual(['a', 'b', 'c']);
  });

  it('AU-281: what is more than fits is dropped and counted, and the service goes on', async () => {
    const { time, api, audit, dropped } = setup();
    api.most = undefined;
    for (let n = 0; n < MAX_WAITING_ROLE_EVENTS + 3; n++) audit.record(refused(`n${n}`));
    expect(dropped()).toBe(3);
    api.most = MAX_ROLE_EVENTS;
    await time.pass(HAND_OVER_AGAIN_MS);
    expect(api.taken).toHaveLength(MAX_WAITING_ROLE_EVENTS);
  });

  it('AU-281: a service that stops makes one more attempt', async () => {
    const { api, audit, nodes, dropped } = setup();
    api.most = undefined;
    audit.record(refused('a'));
    await settle();
    api.most = MAX_ROLE_EVENTS;
    await audit.stop();
    expect(nodes()).toEqual(['a']);
    audit.record(refused('late'));
    api.most = undefined;
    await audit.stop();
    expect([nodes(), dropped()]).toEqual([['a'], 0]);
  });
});
