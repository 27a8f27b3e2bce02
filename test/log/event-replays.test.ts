import { randomUUID } from 'node:crypto';
import { connect as dial } from 'node:net';
import { connect, Journal, type NatsLink } from '@waybill/journal';
import { draftTxn, fixtures, serviceActor } from '@waybill/state';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** Transactions of one evaluation each, of this many jobs in turns. */
const TXNS = 600;
const JOBS = 20;
/** Begin at once. */
const SUBSCRIBERS = 300;
const DEADLINE_MS = 60_000;

let waybill: WaybillProcesses;
let link: NatsLink;
let journal: Journal;
let indexes: number[];

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether({ WAYBILL_HTTP_MAX_CONNS_PER_CLIENT: '0' }, ['projector', 'api']);
  link = await connect({ url: waybill.stack.natsUrl, name: 'test' });
  journal = new Journal(link);
  indexes = await Promise.all(Array.from({ length: TXNS }, (_, n) => publish(`job-${n % JOBS}`)));
  const last = Math.max(...indexes);
  await eventually('all is projected', async () => {
    const answer = await fetch(`${waybill.api.url}/v1/event/stream?until=head`);
    await answer.body!.cancel();
    return Number(answer.headers.get('x-waybill-event-head')) >= last;
  });
});
afterAll(async () => {
  journal?.close();
  await link?.close();
  await waybill?.stop();
});

async function publish(job: string): Promise<number> {
  const Evals = [fixtures.anEval({ ID: randomUUID(), JobID: job, Status: 'blocked' })];
  const options = {
    timeNs: Date.now() * 1e6,
    requestId: randomUUID(),
    actor: serviceActor('test'),
    namespace: 'default',
  };
  return (await journal.publish(draftTxn('EvalUpdate', { Evals }, options))).index;
}

interface Taken {
  readonly status: string;
  readonly indexes: readonly number[];
  /** The whole of what came, headers, chunks' lengths and trailers too. */
  readonly text: string;
}

/** All that comes on a connection until the server ends it, without an HTTP client's help. */
function taken(query: string): Promise<Taken> {
  const { hostname, port } = new URL(waybill.api.url);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = dial(Number(port), hostname, () =>
      socket.write(
        `GET /v1/event/stream?namespace=*&${query} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`,
      ),
    );
    socket.setEncoding('latin1');
    socket.setTimeout(DEADLINE_MS, () => socket.destroy(new Error(`nothing came for ${DEADLINE_MS} ms`)));
    socket.on('data', (chunk: string) => (text += chunk));
    socket.on('error', reject);
    socket.on('end', () => {
      const lines = text.split('\n').filter((line) => line.startsWith('{"Index":'));
      const found = lines.map((line) => (JSON.parse(line) as { Index: number }).Index);
      resolve({ status: text.slice(0, text.indexOf('\r')), indexes: found, text });
    });
  });
}

describe('subscribers that begin together', () => {
  it('EV-60, EV-63: hundreds that begin at index 0 at once are all answered, and get every frame', async () => {
    const all = await Promise.all(Array.from({ length: SUBSCRIBERS }, () => taken('until=head')));
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set(['HTTP/1.1 200 OK']));
    const wanted = indexes.toSorted((a, b) => a - b).slice(-100);
    for (const { indexes: got } of all) expect(got).toEqual(wanted);
  }, 120_000);

  it('EV-60, EV-64, EV-72: each from its own index and for its own job, they get what is theirs and nothing else', async () => {
    const sorted = indexes.toSorted((a, b) => a - b);
    const asked = Array.from({ length: SUBSCRIBERS }, (_, n) => ({ from: sorted[n]!, job: n % (JOBS + 1) }));
    const all = await Promise.all(
      asked.map(({ from, job }) =>
        taken(`until=head&index=${from}${job < JOBS ? `&topic=Evaluation:job-${job}` : ''}`),
      ),
    );
    for (const [n, { from, job }] of asked.entries()) {
      const wanted = job < JOBS ? indexes.filter((_, at) => at % JOBS === job) : sorted;
      expect(all[n]!.indexes).toEqual(wanted.filter((index) => index >= from).toSorted((a, b) => a - b));
    }
  }, 120_000);

  it('EV-61: a stream that the server ends says behind its body with which index to go on', async () => {
    const head = Math.max(...indexes);
    const { text } = await taken(`until=head&index=${head - 5}`);
    expect(text).toContain('\r\nTrailer: X-Waybill-Event-Next\r\n');
    expect(text.endsWith(`\r\n0\r\nX-Waybill-Event-Next: ${head + 1}\r\n\r\n`)).toBe(true);
    // From now on, and nothing has happened since.
    expect((await taken('until=head&index=999999999')).text).toMatch(/X-Waybill-Event-Next: \d+\r\n\r\n$/);
  });
});
