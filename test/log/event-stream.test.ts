import { connect, Journal } from '@waybill/journal';
import { eventsOf, StateMachine } from '@waybill/state';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

interface Line {
  Index: number;
  Time: number;
  Events: { Topic: string; Type: string; Key: string; Index: number; Namespace: string }[];
}

let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({}, ['projector', 'broker', 'scheduler', 'api'], ['projector', 'api']);
  api = waybill.api;
});
afterAll(() => waybill?.stop());

/** Reads lines until `enough` says so or the connection breaks; heartbeats are left out. */
async function readLines(
  query: string,
  enough: (lines: readonly Line[]) => boolean,
  deadlineMs = 20_000,
): Promise<Line[]> {
  const lines: Line[] = [];
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), deadlineMs);
  try {
    const answer = await fetch(`${api.url}/v1/event/stream?namespace=*&${query}`, { signal: over.signal });
    let rest = '';
    for await (const chunk of answer.body!) {
      rest += Buffer.from(chunk).toString('utf8');
      const complete = rest.split('\n');
      rest = complete.pop()!;
      for (const line of complete) if (line !== '{}') lines.push(JSON.parse(line) as Line);
      if (enough(lines)) break;
    }
  } catch {
    // broken or out of time: what is complete counts (EV-28)
  } finally {
    clearTimeout(timer);
    over.abort();
  }
  return lines;
}

/** The lines of the whole log, made of it anew. */
async function saidByLog(): Promise<Line[]> {
  const link = await connect({ url: waybill.stack.natsUrl, name: 'test' });
  const journal = new Journal(link);
  const machine = new StateMachine();
  const frames: unknown[] = [];
  const follower = await journal.follow({
    from: 1,
    onTxns: (txns) => void frames.push(...txns.flatMap((txn) => eventsOf(machine.apply(txn)) ?? [])),
    onError: (error) => {
      throw error;
    },
  });
  await follower.caughtUp;
  await follower.stop();
  journal.close();
  await link.close();
  return JSON.parse(JSON.stringify(frames)) as Line[];
}

const until =
  (index: number) =>
  (lines: readonly Line[]): boolean =>
    (lines.at(-1)?.Index ?? 0) >= index;

async function register(count: number, prefix: string): Promise<number> {
  let last = 0;
  for (let i = 0; i < count; i++) last = (await api.register(shellJob(`${prefix}-${i}`, 'true'))).Index;
  return last;
}

describe('GET /v1/event/stream', () => {
  it('API-400, API-544, API-620, EV-24, API-263, CL-1062: headers and a first heartbeat come at once, with floor and head', async () => {
    const answer = await fetch(`${api.url}/v1/event/stream?index=1`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.headers.get('x-waybill-event-floor')).toBe('1');
    expect(Number(answer.headers.get('x-waybill-event-head'))).toBeGreaterThanOrEqual(1);
    const reader = answer.body!.getReader();
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('{}\n');
    await reader.cancel();
  });

  it('API-401, API-407, EV-5, EV-26, CL-1062: a registration is one line with the job and its evaluation', async () => {
    const { Index, EvalID } = await api.register(shellJob('seen', 'true'));
    const lines = await readLines(`index=${Index}`, until(Index));
    const line = lines.find((l) => l.Index === Index)!;
    expect(line.Events.map((e) => [e.Topic, e.Type, e.Key])).toEqual([
      ['Job', 'JobRegistered', 'seen'],
      ['Evaluation', 'JobRegistered', EvalID],
    ]);
    expect(line.Time).toBeGreaterThan(1.7e18);
  });

  it('API-401, API-410, API-412, EV-60, EV-62: from whatever index, while others write: everything from there on, once, in order', async () => {
    const writing = register(60, 'rate');
    const first = (await readLines('index=1', (lines) => lines.length > 3))[0]!.Index;
    const last = await writing;
    const all = await readLines('index=1', until(last));
    expect(all[0]!.Index).toBe(first);
    for (const from of [2, Math.floor(last / 3), Math.floor(last / 2), last - 1, last]) {
      const lines = await readLines(`index=${from}`, until(last));
      const indexes = lines.map((l) => l.Index).filter((index) => index <= last);
      expect(indexes).toEqual(all.map((l) => l.Index).filter((index) => index >= from && index <= last));
    }
  });

  it('API-412, EV-27, EV-61, EV-84: what consumers see who go on with N+1 over kill -9 of API, projector, NATS and Postgres is what the log says', async () => {
    const start = Number((await api.raw('/v1/jobs')).headers.get('x-nomad-index'));
    let target = Number.POSITIVE_INFINITY;
    const consume = async (): Promise<Line[]> => {
      const seen: Line[] = [];
      for (let next = start + 1; next <= target; next = (seen.at(-1)?.Index ?? start) + 1)
        seen.push(...(await readLines(`index=${next}`, until(target), 4_000)));
      return seen.filter(({ Index }) => Index <= target);
    };
    const consumers = [consume(), consume(), consume()];
    const writeOnce = (id: string): ReturnType<ApiClient['register']> =>
      eventually(`${id} is written`, () => api.register(shellJob(id, 'true')).catch(() => undefined), 60_000);
    for (let i = 0; i < 30; i++) {
      if (i === 6) await waybill.kill('api').then(() => waybill.startService('api'));
      if (i === 12) await waybill.kill('projector').then(() => waybill.startService('projector'));
      if (i === 18) process.kill(waybill.stack.nats.pid, 'SIGKILL');
      if (i === 24) process.kill(waybill.stack.postgres.pid, 'SIGKILL');
      await writeOnce(`chaos-${i}`);
    }
    target = (await writeOnce('chaos-end')).Index;
    const logged = (await saidByLog()).filter(({ Index }) => Index > start && Index <= target);
    expect(logged.length).toBeGreaterThan(30);
    for (const seen of await Promise.all(consumers)) expect(seen).toEqual(logged);
  }, 180_000);

  it('API-404, EV-22, EV-34: topics and keys choose', async () => {
    const { Index } = await api.register(shellJob('chosen', 'true'));
    const { Index: last } = await api.register(shellJob('not-chosen', 'true'));
    await api.register(shellJob('chosen', 'exit 1'));
    const lines = await readLines(`index=${Index}&topic=Job:chosen`, (found) => found.length >= 2);
    expect(new Set(lines.flatMap((l) => l.Events.map((e) => `${e.Topic}:${e.Key}`)))).toEqual(new Set(['Job:chosen']));
    expect(lines.map((l) => l.Index)).not.toContain(last);
  });

  it('API-403, EV-21, EV-67: an index that is no number is refused', async () => {
    expect((await fetch(`${api.url}/v1/event/stream?index=-1`)).status).toBe(400);
    const answer = await fetch(`${api.url}/v1/event/stream?index=soon`);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('Unable to parse index:');
    expect((await fetch(`${api.url}/v1/event/stream?index=${2n ** 63n}`)).status).toBe(400);
    const bad = await fetch(`${api.url}/v1/event/stream?topic=a:b:c`);
    expect(bad.status).toBe(400);
  });

  it('API-410, EV-66: an index in the future means from now on', async () => {
    const reading = readLines('index=999999999', (found) => found.length >= 1);
    await eventually('it is subscribed', async () => {
      await api.register(shellJob('from-now', `true # ${Math.random()}`));
      return Promise.race([reading.then(() => true), new Promise<false>((r) => setTimeout(() => r(false), 50))]);
    });
    expect((await reading).length).toBeGreaterThanOrEqual(1);
  });
});
