import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger } from '@waybill/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ContainerLog, engineTime } from './container-log.js';
import type { RotatingLog } from './rotating-log.js';

type Piece = readonly [second: number, stream: 1 | 2, text: string];

let dir: string;
let server: Server;
/** The container's output in the engine. */
let held: Piece[];
/** The number of pieces after which each further read ends; the default is all. */
let cuts: number[];
/** The state at each further look at the container; the last one stays. */
let states: string[];
let asked: string[];

const at = (second: number): string => `2026-01-02T03:04:${String(second).padStart(2, '0')}.000000007Z`;

function frame([second, stream, text]: Piece): Buffer {
  const body = Buffer.from(`${at(second)} ${text}`);
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(body.length, 4);
  return Buffer.concat([header, body]);
}

function answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
  if (url.includes('/json')) {
    const Status = states.length > 1 ? states.shift() : states[0];
    response.setHeader('content-type', 'application/json');
    return void response.end(JSON.stringify({ State: { Status, Running: Status === 'running' } }));
  }
  const since = new URL(url, 'http://engine').searchParams.get('since');
  asked.push(since ?? '');
  const wanted = held.filter(([second]) => since === null || Number(since) <= Number(engineTime(at(second))));
  response.end(Buffer.concat(wanted.slice(0, cuts.shift()).map(frame)));
}

beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-container-log-'));
  [held, cuts, states, asked] = [[], [], ['exited'], []];
  server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(path.join(dir, 'engine.sock'), resolve));
});
afterEach(() => {
  server.close();
  rmSync(dir, { recursive: true, force: true });
});

const read = (type: string): string => readFileSync(path.join(dir, `web.${type}.0`), 'utf8');
const write = (to: RotatingLog, chunk: Buffer): Promise<void> => to.write(chunk);

function log(before = { stdout: 0, stderr: 0 }): ContainerLog {
  const spec = (type: string) => ({ dir, base: `web.${type}`, maxFiles: 2, maxFileBytes: 1_000_000 });
  const files = { stdout: spec('stdout'), stderr: spec('stderr') };
  const order = { endpoint: `unix://${dir}/engine.sock`, container: 'c', tty: false, files, before };
  return new ContainerLog(order, path.join(dir, 'mark'), write, silentLogger);
}

describe('the output of a container', () => {
  it('AG-245: an engine that cuts it off when the container ends is asked once more, and nothing is there twice', async () => {
    held = [
      [1, 1, 'one\n'],
      [2, 2, 'error\n'],
      [3, 1, 'two\n'],
    ];
    states = ['running', 'exited'];
    cuts = [1];
    expect(await log().copyOutput()).toBe(true);
    expect([read('stdout'), read('stderr')]).toEqual(['one\ntwo\n', 'error\n']);
  });

  it('AG-242: times that are not ascending give no line twice, because the engine copies both streams at once', async () => {
    held = [
      [1, 1, 'out\n'],
      [3, 2, 'err\n'],
      [2, 1, 'hello\n'],
    ];
    states = ['running', 'exited'];
    expect(await log().copyOutput()).toBe(true);
    expect(asked).toEqual(['', engineTime(at(1))]);
    expect([read('stdout'), read('stderr')]).toEqual(['out\nhello\n', 'err\n']);
  });

  it('one that has not started is waited for', async () => {
    held = [[1, 1, 'one\n']];
    states = ['created', 'created', 'exited'];
    expect(await log().copyOutput()).toBe(true);
    expect(asked).toHaveLength(1);
    expect(read('stdout')).toBe('one\n');
  });

  it('AG-242: goes on behind what is in the files already, from the moment of the mark, in the middle of a piece too', async () => {
    held = [
      [1, 1, 'gone'],
      [2, 1, 'one\n'],
      [3, 1, 'two\n'],
    ];
    writeFileSync(path.join(dir, 'web.stdout.0'), 'of the start before\ngoneon');
    writeFileSync(path.join(dir, 'mark'), JSON.stringify({ since: at(2), stdout: 4, stderr: 0 }));
    expect(await log({ stdout: 20, stderr: 0 }).copyOutput()).toBe(true);
    expect(asked).toEqual([engineTime(at(2))]);
    expect(read('stdout')).toBe('of the start before\ngoneone\ntwo\n');
  });

  it('where the engine has thrown away what the mark names, all that is left is new', async () => {
    held = [[5, 1, 'later\n']];
    writeFileSync(path.join(dir, 'web.stdout.0'), 'earlier\n');
    writeFileSync(path.join(dir, 'mark'), JSON.stringify({ since: at(2), stdout: 2, stderr: 0 }));
    expect(await log().copyOutput()).toBe(true);
    expect(read('stdout')).toBe('earlier\nlater\n');
  });

  it.each([
    ['2026-01-02T03:04:05.678901234Z', '1767323045.678901234'],
    ['2026-01-02T03:04:05.6Z', '1767323045.600000000'],
    ['2026-01-02T03:04:05Z', '1767323045.000000000'],
  ])('the engine is asked by seconds: %s', (timestamp, seconds) => {
    expect(engineTime(timestamp)).toBe(seconds);
  });
});
