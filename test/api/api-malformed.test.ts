import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text as textOfStream } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SeededRandom } from '../sim/kernel/seeded-random.js';
import type { ApiClient } from '../support/api-client.js';
import { type MalformedRequest, MalformedRequests } from '../support/malformed-requests.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** Requests nobody means: what the API answers to them, and that nothing is left of them. */

const REQUESTS = 10_000;
const AT_ONCE = 32;
const SEED = Number(process.env['WAYBILL_TEST_SEED'] ?? randomInt(2 ** 31));
/** More than this above where it was before is a leak, kB. */
const MEMORY_SLACK_KB = 64 * 1024;
/**
 * Every status that a request may get which is itself at fault (API-36), and 501 for what Waybill does not have. None of
 * these requests is answered 500: the server did not fail.
 */
const REFUSALS = new Set([400, 403, 404, 405, 408, 409, 410, 413, 414, 415, 429, 431, 501]);
/** What an exception that nobody expected would say. */
const BUG =
  /TypeError|RangeError|Cannot read|is not a function|undefined|\bat \S+:\d+|syntax for type|UTF8|Maximum call stack|internal server/i;

let waybill: WaybillProcesses;
let api: ApiClient;
let port: number;
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

beforeAll(async () => {
  waybill = await WaybillProcesses.startTogether(
    {},
    ['projector', 'broker', 'scheduler', 'nodes', 'deployments', 'api'],
    ['api'],
  );
  api = waybill.api;
  port = Number(new URL(api.url).port);
});
afterAll(async () => {
  agent.destroy();
  await waybill?.stop();
});

/** As it stands, without the repairs that `fetch` makes to a URL. */
async function send({ method, target, body }: Pick<MalformedRequest, 'method' | 'target' | 'body'>) {
  const sent = httpRequest({ host: '127.0.0.1', port, method, path: target, agent });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return {
    status: answer.statusCode ?? 0,
    type: answer.headers['content-type'] ?? '',
    text: await textOfStream(answer),
  };
}

/** What is wrong with an answer; undefined: nothing. */
function complaint({ status, type, text }: Awaited<ReturnType<typeof send>>): string | undefined {
  if (!REFUSALS.has(status)) return `answered ${status}`;
  if (text === '' && status !== 404 && status !== 405) return 'no text says what is wrong';
  if (text !== '' && !type.startsWith('text/plain')) return `is ${type}`;
  if (BUG.test(text)) return 'has the text of a bug';
  return undefined;
}

const residentKb = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${waybill.pid('api')}/status`, 'utf8'))?.[1]);

/** Transactions that changed something on behalf of a user. */
const txnsOfUsers = async (): Promise<string[]> => {
  const records = await api.get<{ Name: string; Verdict: string; Actor: { Kind: string } }[]>(
    '/v1/waybill/log?per_page=1000',
  );
  const stored = records.filter(({ Actor, Verdict }) => Actor.Kind === 'anonymous' && Verdict === 'accepted');
  return stored.map(({ Name }) => Name);
};

async function flood(requests: MalformedRequests, count: number): Promise<string[]> {
  const complaints: string[] = [];
  let left = count;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const request = requests.next();
      const answer = await send(request);
      const wrong = complaint(answer);
      if (wrong)
        complaints.push(
          `${request.fault}: ${request.method} ${request.target.slice(0, 80)} ${wrong}: ${answer.text.slice(0, 120)}`,
        );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return complaints;
}

describe(`malformed requests (WAYBILL_TEST_SEED=${SEED})`, () => {
  it(`API-27, API-612: ${REQUESTS} of them are refused in words, nothing is stored, and the memory comes back`, async () => {
    const document = await api.get<ConstructorParameters<typeof MalformedRequests>[0]>('/v1/waybill/openapi.json');
    const random = new SeededRandom(String(SEED));
    const requests = new MalformedRequests(document, () => random.next());
    const before = await txnsOfUsers();
    expect(await flood(requests, REQUESTS / 4)).toEqual([]);
    const warmKb = residentKb();
    expect(await flood(requests, (REQUESTS * 3) / 4)).toEqual([]);
    await eventually('the memory is back', () => residentKb() < warmKb + MEMORY_SLACK_KB);
    expect(await txnsOfUsers()).toEqual(before);
    expect(await api.get('/v1/jobs?namespace=*')).toEqual([]);
  });
});

describe('what is no request', () => {
  const open = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  };
  /** All that comes back until the server hangs up. */
  const answerTo = async (socket: Socket): Promise<string> => {
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString()));
    socket.on('error', () => {});
    await once(socket, 'close');
    return received;
  };
  const HEAD = 'PUT /v1/jobs HTTP/1.1\r\nHost: localhost\r\n';

  it('a flood of headers, a body larger than 32 MiB, and noise', async () => {
    for (const [sent, status, word] of [
      [`${HEAD}${'X-A: b\r\n'.repeat(5_000)}\r\n`, 431, 'headers'],
      [`${HEAD}X-Long: ${'a'.repeat(40_000)}\r\n\r\n`, 431, 'headers'],
      ['\u0016\u0003\u0001 hello\r\n\r\n', 400, 'no HTTP'],
      [`${HEAD}Content-Length: 40000000\r\n\r\n`, 413, 'too large: at most 32 MiB'],
      [`${HEAD.replace('localhost', 'x')}Content-Length: 40000000\r\n\r\n`, 403, 'not called "x"'],
      [`${HEAD}Content-Length: -5\r\n\r\n`, 400, 'no HTTP'],
      [`${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`, 400, 'no HTTP'],
    ] as const) {
      const socket = await open();
      const answer = answerTo(socket);
      socket.write(sent);
      expect(await answer).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*text/plain[^]*${word}`));
    }
  });

  it('bodies that end half-way leave nothing behind', async () => {
    const before = await txnsOfUsers();
    const halves = await Promise.all(Array.from({ length: 50 }, open));
    for (const socket of halves) socket.write(`${HEAD}Content-Length: 100000\r\n\r\n{"Job":{"ID":"half"`);
    for (const socket of halves) socket.resetAndDestroy();
    await eventually('they are gone', async () => {
      const { Gauges } = await api.get<{ Gauges: { Name: string; Value: number }[] }>('/v1/metrics');
      const connections = Gauges.find(({ Name }) => Name === 'nomad.nomad.agent.http.connections')?.Value ?? Infinity;
      return connections <= AT_ONCE + 5;
    });
    expect(await txnsOfUsers()).toEqual(before);
  });

  it('who sends the head of a request too slowly is told so and cut off', async () => {
    const socket = await open();
    const answer = answerTo(socket);
    socket.write('GET /v1/jobs HTTP/1.1\r\nX-Slow: ');
    const drip = setInterval(() => socket.write('a'), 500);
    socket.once('close', () => clearInterval(drip));
    expect(await answer).toMatch(/^HTTP\/1.1 408 [^]*not sent in time/);
  });
});
