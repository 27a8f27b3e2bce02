import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, Journal, type NatsLink } from '@waybill/journal';
import { draftTxn, fixtures, serviceActor, type TxnPayloads, type TxnType } from '@waybill/state';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { EventReader } from '../support/event-reader.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

let waybill: WaybillProcesses;
let api: ApiClient;
let link: NatsLink;
let journal: Journal;

beforeAll(async () => {
  waybill = await WaybillProcesses.start({}, ['projector', 'api']);
  api = waybill.api;
  link = await connect({ url: waybill.stack.natsUrl, name: 'test' });
  journal = new Journal(link);
});
afterAll(async () => {
  journal?.close();
  await link?.close();
  await waybill?.stop();
});

/** Writes a transaction past the API, and waits until it can be read. */
async function publish<T extends TxnType>(type: T, payload: TxnPayloads[T], namespace = 'default'): Promise<number> {
  const draft = draftTxn(type, payload, {
    timeNs: Date.now() * 1e6,
    requestId: randomUUID(),
    actor: serviceActor('test'),
    namespace,
  });
  const { index } = await journal.publish(draft);
  await eventually('it is projected', async () => (await head()) >= index);
  return index;
}

async function head(): Promise<number> {
  const answer = await fetch(`${api.url}/v1/event/stream?index=1`);
  await answer.body!.cancel();
  return Number(answer.headers.get('x-waybill-event-head'));
}

async function floor(): Promise<number> {
  const answer = await fetch(`${api.url}/v1/event/stream?index=1`);
  await answer.body!.cancel();
  return Number(answer.headers.get('x-waybill-event-floor'));
}

const evals = (count: number, over: Partial<ReturnType<typeof fixtures.anEval>> = {}): TxnPayloads['EvalUpdate'] => ({
  Evals: Array.from({ length: count }, () => fixtures.anEval({ ID: randomUUID(), Status: 'blocked', ...over })),
});
const follow = (query: string): Promise<EventReader> => EventReader.open(`${api.url}/v1/event/stream?${query}`);

describe('a stream that is wanted up to the newest', () => {
  const lines = async (query: string): Promise<string[]> => {
    const answer = await api.raw(`/v1/event/stream?until=head&${query}`, { signal: AbortSignal.timeout(10_000) });
    return (await answer.text()).split('\n').slice(0, -1);
  };

  it('ends behind a heartbeat when all that was applied has been given, also on a quiet topic', async () => {
    const { JobModifyIndex } = await api.register(shellJob('until-head', 'true', { count: 0 }));
    const [first, found, last, ...more] = await lines(`index=${JobModifyIndex}&topic=Job:until-head`);
    expect([first, last, more]).toEqual(['{}', '{}', []]);
    expect(JSON.parse(found!)).toMatchObject({ Index: JobModifyIndex });
    expect(await lines('index=1&topic=Nothing')).toEqual(['{}', '{}']);
    expect(await lines(`index=${await head()}0&topic=*`)).toEqual(['{}', '{}']);
    expect((await api.raw('/v1/event/stream?until=5')).status).toBe(400);
  });
});

describe('/v1/event/stream: the answer', () => {
  it('EV-20: other methods are refused', async () => {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const answer = await api.raw('/v1/event/stream', { method });
      expect([answer.status, await answer.text()]).toEqual([405, 'Invalid method']);
    }
  });

  it('API-400, API-621, EV-23, EV-85: a client that takes gzip gets plain lines at once, without a length', async () => {
    const answer = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
      const asked = request(`${api.url}/v1/event/stream?index=1`, { headers: { 'Accept-Encoding': 'gzip' } }, resolve);
      asked.once('error', reject).end();
    });
    expect(answer.statusCode).toBe(200);
    expect(answer.httpVersion).toBe('1.1');
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-cache' });
    expect(answer.headers).not.toHaveProperty('content-encoding');
    expect(answer.headers).not.toHaveProperty('content-length');
    const first = await new Promise<Buffer>((resolve) => answer.once('data', resolve));
    expect(first.toString()).toMatch(/^\{\}\n/);
    answer.destroy();
  });

  it('EV-25: what is wrong with a request is said with its status, before any 200', async () => {
    for (const query of ['index=-1', 'index=x', 'topic=a:b:c', 'strict=perhaps']) {
      const answer = await api.raw(`/v1/event/stream?${query}`);
      expect([query, answer.status]).toEqual([query, 400]);
      expect(await answer.text()).not.toContain('{}');
    }
  });

  it('EV-28: every line is whole, and a line of events has an index and events', async () => {
    const reader = await follow('index=1&namespace=*');
    for (let n = 0; n < 20; n++) await publish('EvalUpdate', evals(1 + (n % 3)));
    const last = await publish('EvalUpdate', evals(1));
    await reader.until((lines) => (lines.at(-1)?.Index ?? 0) >= last);
    for (const text of reader.texts.filter((line) => line !== '{}')) {
      const line = JSON.parse(text) as { Index: number; Events: unknown[] };
      expect(line.Index).toBeGreaterThan(0);
      expect(line.Events.length).toBeGreaterThan(0);
    }
    reader.close();
  });
});

describe('/v1/event/stream: what passes', () => {
  it('API-404, EV-30, EV-82: the namespace asked for and what has none, by topic and key', async () => {
    const from = (await head()) + 1;
    await publish('EvalUpdate', evals(1, { Namespace: 'bar', JobID: 'web' }), 'bar');
    const node = await publish('NodeRegister', { Node: fixtures.aNode(), CreateNodePool: false }, '');
    const mine = await publish('EvalUpdate', evals(1, { Namespace: 'foo', JobID: 'web' }), 'foo');
    const end = await publish('NodeRegister', { Node: fixtures.aNode(), CreateNodePool: false }, '');
    const [foo, web] = await Promise.all([
      follow(`index=${from}&namespace=foo`),
      follow(`index=${from}&namespace=foo&topic=Evaluation:web&topic=Node`),
    ]);
    for (const reader of [foo, web]) {
      const lines = await reader.until((seen) => seen.at(-1)?.Index === end);
      expect(lines.map((line) => line.Index)).toEqual([node, mine, end]);
      reader.close();
    }
  });

  it('EV-44: a subscription to all namespaces has those that are made after it, until they are gone', async () => {
    const everywhere = await follow(`index=${(await head()) + 1}&namespace=*`);
    const elsewhere = await follow(`index=${(await head()) + 1}&namespace=default`);
    await publish('NamespaceUpsert', { Namespaces: [fixtures.aNamespace({ Name: 'later' })] }, '');
    const inIt = await publish('EvalUpdate', evals(1, { Namespace: 'later', JobID: 'web' }), 'later');
    await publish('NamespaceDelete', { Names: ['later'] }, '');
    const end = await publish('EvalUpdate', evals(1, { JobID: 'end' }));
    const lines = await everywhere.until((seen) => seen.at(-1)?.Index === end);
    expect(lines.map((line) => line.Index)).toEqual([inIt, end]);
    expect((await elsewhere.until((seen) => seen.length > 0)).map((line) => line.Index)).toEqual([end]);
    for (const reader of [everywhere, elsewhere]) reader.close();
  });

  it('API-404, EV-32: an event that several keys fit is sent once', async () => {
    const [one] = evals(1, { JobID: 'twice', DeploymentID: randomUUID() }).Evals;
    const index = await publish('EvalUpdate', { Evals: [one!] });
    const keys = [one!.ID, 'twice', one!.DeploymentID].map((key) => `topic=Evaluation:${key}&topic=*:${key}`).join('&');
    const reader = await follow(`index=${index}&${keys}`);
    const lines = await reader.until((seen) => seen.length > 0);
    expect(lines[0]!.Events).toHaveLength(1);
    reader.close();
  });
});

describe('/v1/event/stream: encoding', () => {
  it('API-22, API-417, EV-50, EV-51, EV-54, EV-56: a node in an event is the node of the API at that index, without its secret', async () => {
    const Node = fixtures.aNode({ Name: 'a <b> & "c"', Meta: { note: 'ü\u0000\ud83d\ude00' } });
    const index = await publish('NodeRegister', { Node, CreateNodePool: false }, '');
    const answer = await api.raw(`/v1/node/${Node.ID}`);
    const reader = await follow(`index=${index}&topic=Node:${Node.ID}`);
    const [line] = await reader.until((seen) => seen.length > 0);
    expect(line!.Events[0]!.Payload['Node']).toEqual(await answer.json());
    expect(line!.Events[0]!.Payload['Node']).toMatchObject({ SecretID: '', Drain: false, ModifyIndex: index });
    expect(reader.texts.join()).not.toContain(Node.SecretID);
    expect(reader.texts.join()).toContain('a <b> & \\"c\\"');
    reader.close();
  });

  it('API-204, API-624, API-625, ND-22, ND-225, ND-226: every write of a node once, with its type, the same to whoever reads again; Drain, and never the secret', async () => {
    const Node = fixtures.aNode({ ID: randomUUID() });
    const NodeID = Node.ID;
    const strategy = { Deadline: 0, IgnoreSystemJobs: false, ForceDeadline: null, StartedAt: null };
    const drain = { NodeID, MarkEligible: false, NodeEvent: null, UpdatedAt: 1, Meta: {}, UpdatedBy: '' };
    const from = await publish('NodeRegister', { Node, CreateNodePool: false }, '');
    const set = await publish('NodeUpdateDrain', { ...drain, DrainStrategy: strategy }, '');
    const drained = await Promise.all(
      [`/v1/node/${NodeID}`, `/v1/node/${NodeID}?pretty`, `/v1/nodes?prefix=${NodeID}`].map((path) =>
        api.get<object>(path),
      ),
    );
    expect(drained).toMatchObject([{ Drain: true }, { Drain: true }, [{ Drain: true }]]);
    expect(JSON.stringify(drained)).not.toContain(Node.SecretID);
    const canceled = await publish('NodeUpdateDrain', { ...drain, DrainStrategy: null }, '');
    const purged = await publish('NodeDeregister', { NodeID }, '');
    const texts: string[] = [];
    for (let reading = 0; reading < 2; reading++) {
      const reader = await follow(`index=${from}&topic=Node:${NodeID}`);
      const lines = await reader.until((seen) => seen.at(-1)?.Index === purged);
      const said = lines.flatMap(({ Events }) =>
        Events.map(({ Index, Type, Payload }) => [Index, Type, (Payload['Node'] as { Drain: boolean }).Drain]),
      );
      expect(said).toEqual([
        [from, 'NodeRegistration', false],
        [set, 'NodeDrain', true],
        [canceled, 'NodeDrain', false],
        [purged, 'NodeDeregistration', false],
      ]);
      texts.push(reader.texts.filter((text) => text.includes(NodeID)).join());
      reader.close();
    }
    expect(texts[0]).toBe(texts[1]);
    expect(texts[0]).not.toContain(Node.SecretID);
  });

  it('API-417, EV-50, EV-55: evaluations leave empty members out, as the API does', async () => {
    const [one] = evals(1, { DeploymentID: '', NodeID: '' }).Evals;
    const index = await publish('EvalUpdate', { Evals: [one!] });
    const reader = await follow(`index=${index}`);
    const [line] = await reader.until((seen) => seen.length > 0);
    const sent = line!.Events[0]!.Payload['Evaluation'] as object;
    expect(sent).toEqual(await api.get(`/v1/evaluation/${one!.ID}`));
    expect(sent).not.toHaveProperty('DeploymentID');
    expect(sent).not.toHaveProperty('NodeID');
    reader.close();
  });

  it('EV-83: 10,000 events of one index are one line, delivered whole', async () => {
    const index = await publish('EvalUpdate', evals(10_000));
    const reader = await follow(`index=${index}`);
    const lines = await reader.until((seen) => seen.length > 0);
    expect(lines[0]!.Index).toBe(index);
    expect(lines[0]!.Events).toHaveLength(10_000);
    expect(new Set(lines[0]!.Events.map((event) => event.Key)).size).toBe(10_000);
    reader.close();
  }, 60_000);

  it('EV-73: whoever has a line can read what it says', async () => {
    const reader = await follow(`index=${(await head()) + 1}&topic=Job`);
    for (let n = 0; n < 10; n++) {
      const registered = api.register(shellJob(`readable-${n}`, 'true'));
      const lines = await reader.until((seen) => seen.length > n);
      const job = await api.get<{ ModifyIndex: number }>(`/v1/job/${lines[n]!.Events[0]!.Key}`);
      expect(job.ModifyIndex).toBeGreaterThanOrEqual(lines[n]!.Index);
      await registered;
    }
    reader.close();
  });
});

describe('/v1/event/stream: where it starts and what is kept', () => {
  it('EV-64: an index without a match begins with the next that has one', async () => {
    const quiet = await publish('NodeDeregister', { NodeID: randomUUID() }, ''); // refused: no event
    const next = await publish('EvalUpdate', evals(1));
    const reader = await follow(`index=${quiet}`);
    expect((await reader.until((seen) => seen.length > 0))[0]!.Index).toBe(next);
    reader.close();
  });

  it('API-410, API-411, EV-65, EV-68: below the floor it starts at the floor and says so; strict refuses; the floor only rises', async () => {
    expect(await floor()).toBe(1);
    const before = await publish('EvalUpdate', evals(1));
    const first = await publish('EvalUpdate', evals(3_000, { StatusDescription: 'x'.repeat(300) })); // several messages
    const second = await publish('EvalUpdate', evals(1));
    const events = await jetstreamManager(link.nc);
    const { state } = await events.streams.info('EVENTS');
    await events.streams.purge('EVENTS', { seq: state.last_seq - 1 }); // cuts through the frame of `first`
    expect(await floor()).toBe(second);

    const strict = await api.raw(`/v1/event/stream?index=${before}&strict=true`);
    expect([strict.status, await strict.text()]).toEqual([410, 'requested index not in buffer']);
    expect(strict.headers.get('x-waybill-event-floor')).toBe(String(second));
    expect(Number(strict.headers.get('x-waybill-event-head'))).toBeGreaterThanOrEqual(second);

    for (const from of [1, before, first, second]) {
      const reader = await follow(`index=${from}&namespace=*`);
      expect(reader.headers.get('x-waybill-event-floor')).toBe(String(second));
      expect((await reader.until((seen) => seen.length > 0))[0]!.Index).toBe(second);
      reader.close();
    }
    await publish('EvalUpdate', evals(1));
    expect(await floor()).toBe(second);
    expect((await api.raw(`/v1/event/stream?index=${second}&strict=true`)).status).toBe(200);
  }, 60_000);

  it('API-418, EV-48, EV-70: an instance that ends ends its streams between two lines, and their bodies, with no word of why', async () => {
    const reader = await follow('index=1&namespace=*');
    await publish('EvalUpdate', evals(1));
    await reader.until((seen) => seen.length > 0);
    await waybill.kill('api', 'SIGTERM');
    expect([await reader.ended, reader.rest]).toEqual([true, '']);
    await waybill.startService('api');
  }, 60_000);

  it('EV-84: over restarts and kills of API and projector under load, the union of the lines is the log', async () => {
    const from = (await head()) + 1;
    const written: number[] = [];
    const chaos = (async () => {
      for (let round = 0; round < 6; round++) {
        for (let n = 0; n < 30; n++) written.push((await journal.publish(draftOf())).index);
        const victim = round % 2 === 0 ? 'api' : 'projector';
        await waybill.kill(victim);
        for (let n = 0; n < 10; n++) written.push((await journal.publish(draftOf())).index);
        await waybill.startService(victim);
      }
    })();
    let over = false;
    void chaos.then(() => (over = true));
    const seen: number[] = [];
    while (!over || seen.at(-1) !== written.at(-1)) {
      const reader = await follow(`index=${(seen.at(-1) ?? from - 1) + 1}`).catch(() => undefined);
      if (!reader) continue;
      await Promise.race([reader.ended, chaos.then(() => reader.until((l) => l.at(-1)?.Index === written.at(-1)))]);
      seen.push(...reader.lines.map((line) => line.Index));
      reader.close();
    }
    expect(seen).toEqual(written);
  }, 180_000);

  const draftOf = () =>
    draftTxn('EvalUpdate', evals(1), {
      timeNs: Date.now() * 1e6,
      requestId: randomUUID(),
      actor: serviceActor('test'),
      namespace: 'default',
    });
});

describe('/v1/event/stream: settings', () => {
  it('API-411, EV-29, EV-63: it can be switched off, and what a start at index 0 replays can be set', async () => {
    for (let n = 0; n < 5; n++) await publish('EvalUpdate', evals(1));
    await waybill.kill('api');
    await waybill.startService('api', 'api', { WAYBILL_EVENT_REPLAY: '3' });
    const end = await publish('EvalUpdate', evals(1));
    const reader = await follow('namespace=*');
    expect((await reader.until((seen) => seen.at(-1)?.Index === end)).length).toBe(3);
    reader.close();
    await waybill.kill('api');
    await waybill.startService('api', 'api', { WAYBILL_EVENT_BROKER: 'false' });
    const refused = await api.raw('/v1/event/stream');
    expect([refused.status, await refused.text()]).toEqual([500, 'EventBroker not configured']);
  }, 60_000);
});
