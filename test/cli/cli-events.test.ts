import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

const START_NS = 1_772_359_200_000_000_000n;
const line = (index: number, type = 'JobRegistered', key = 'web') =>
  `{"Index":${index},"Time":${START_NS + BigInt(index) * 1_000_000_000n},"Events":[{"Topic":"Job","Type":"${type}","Key":"${key}","Namespace":"default","Index":${index},"Payload":{"Job":{"Type":"${key}","Version":1152921504606846977,"Status":"running"}}}]}\n`;

describe('which events are shown, and from where', () => {
  let api: RecordedApi;
  let directory: string;
  let cursor: string;
  beforeEach(async () => {
    api = await RecordedApi.start();
    directory = await mkdtemp(path.join(tmpdir(), 'waybill-events-'));
    cursor = path.join(directory, 'cursor');
  });
  afterEach(async () => {
    api.stop();
    await rm(directory, { recursive: true });
  });

  const stream = (lines: string[], head = 0) =>
    api.play('GET /v1/event/stream', (response: ServerResponse) => {
      response.writeHead(200, head === 0 ? {} : { 'X-Waybill-Event-Head': String(head) });
      response.write(`{}\n${lines.join('')}`);
    });
  const tail = (...words: string[]) => api.run(['event', 'tail', ...words]);
  const askedFor = () => api.seen.at(-1)?.query.get('index');

  it('a topic that is probably a slip is named, and asked for all the same', async () => {
    stream([line(3)], 3);
    const { code, err } = await tail('-index=3', '-count=1', 'Jbo:web', 'Node', '*');
    expect([code, err]).toEqual([0, 'Unknown topic "Jbo": did you mean Job?\n']);
    expect(api.seen.at(-1)?.query.getAll('topic')).toEqual(['Jbo:web', 'Node', '*']);
  });

  it('CL-1006: -cursor goes on behind what was printed, and keeps what has been', async () => {
    stream([line(3), line(4)], 4);
    await tail('-cursor', cursor, '-index=3', '-count=1');
    expect(await readFile(cursor, 'utf8')).toBe('3\n');
    const { out } = await tail('-cursor', cursor, '-index=oldest', '-json', '-count=1');
    expect([askedFor(), out]).toEqual(['4', line(4)]);
    expect(await readFile(cursor, 'utf8')).toBe('4\n');
    await writeFile(cursor, 'what');
    expect(await tail('-cursor', cursor)).toMatchObject({ code: 1, err: expect.stringContaining('holds no index') });
  });

  it('CL-1006: a run ended by -no-follow leaves the newest index, also on a quiet topic', async () => {
    stream(['{}\n'], 90);
    expect(await tail('-cursor', cursor, '-index=5', '-no-follow', 'Node')).toMatchObject({ code: 0, out: '' });
    expect(await readFile(cursor, 'utf8')).toBe('90\n');
    expect(api.seen.at(-1)?.query.get('until')).toBe('head');
  });

  it('cli.md 11.1: -since begins at the first index at or after a time', async () => {
    api.play('GET /v1/waybill/log', [{ Index: 7 }], []);
    stream([line(7)]);
    await tail('-since', '2026-03-01T10:00:00Z', '-count=1');
    expect(Object.fromEntries(api.seen[0]?.query ?? [])).toEqual({
      since: '2026-03-01T10:00:00Z',
      reverse: 'true',
      per_page: '1',
    });
    expect(askedFor()).toBe('7');
    await tail('-since', '1h', '-count=1');
    expect(askedFor()).toBe('9223372036854775807');
    expect(await tail('-since', 'yesterday')).toMatchObject({ code: 1, err: expect.stringContaining('-since') });
  });

  it('cli.md 11.1: without the right to the log, -since reads from the oldest and drops what is earlier', async () => {
    api.play('GET /v1/waybill/log', [403, 'Permission denied']);
    stream([line(3), line(4), line(5)]);
    const since = new Date(Number(START_NS / 1_000_000n) + 4_000).toISOString();
    const { out } = await tail('-since', since, '-json', '-count=2');
    expect([askedFor(), out]).toEqual(['1', line(4) + line(5)]);
  });

  it('cli.md 11.1: -type and -filter choose events, -t prints each', async () => {
    stream([line(3), line(4, 'JobStopped', 'batch'), line(5, 'JobStopped')], 5);
    const chosen = await tail(
      '-index=1',
      '-type=JobStopped',
      '-filter',
      'Payload.Job.Type == "batch"',
      '-no-follow',
      '-json',
    );
    expect(chosen.out).toBe(line(4, 'JobStopped', 'batch'));
    const rendered = await tail(
      '-index=1',
      '-no-follow',
      '-t',
      '{{.Type}} {{.Key}} {{.Payload.Job.Version}}',
      '-type=JobStopped',
    );
    expect(rendered.out).toBe('JobStopped batch 1152921504606846977\nJobStopped web 1152921504606846977\n');
    expect(await tail('-index=1', '-filter', 'Nope ==')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^Error filtering events: /),
    });
  });
});
