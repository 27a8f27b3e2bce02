import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AuditFiles } from './audit-files.store.js';
import { readAuditQuery } from './audit-query.js';
import type { AuditRecord } from './audit-record.js';
import { type AuditPage, auditPage } from './audit-trail.js';

const TIME = Date.UTC(2026, 0, 1);

const record = (n: number, members: { accessor?: string; status?: number; object?: string } = {}): AuditRecord => ({
  created_at: '',
  event_type: 'audit',
  payload: {
    id: String(n),
    stage: 'OperationComplete',
    type: 'audit',
    timestamp: new Date(TIME + n * 1_000).toISOString(),
    version: 1,
    auth: { accessor_id: members.accessor ?? 'a1' },
    request: {
      id: `r${n}`,
      operation: 'GET',
      endpoint: '/v1/jobs',
      namespace: { id: n % 2 === 0 ? 'even' : 'odd' },
      region: 'global',
      ...(members.object !== undefined && { object: { kind: 'job', id: members.object } }),
      request_meta: { remote_address: '', user_agent: 'ä'.repeat(n % 50) },
      node_meta: { ip: '' },
    },
    response: { status_code: members.status ?? 200, duration_ms: 1, request_id: `q${n}` },
  },
});

let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'waybill-audit-'));
  file = path.join(directory, 'audit.log');
});
afterEach(() => rmSync(directory, { recursive: true }));

const write = (name: string, records: readonly AuditRecord[], end = ''): void =>
  writeFileSync(path.join(directory, name), records.map((one) => `${JSON.stringify(one)}\n`).join('') + end);
const page = async (query: Record<string, string>): Promise<AuditPage> =>
  auditPage(new AuditFiles(file), readAuditQuery(query));
const idsOf = ({ records }: AuditPage): number[] => records.map(({ payload }) => Number(payload.id));
const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, n) => from + n);

describe('pages of the audit log', () => {
  it('AU-282: the newest first, through files that were put aside, also while one is', async () => {
    const all = numbers(0, 1_000).map((n) => record(n));
    write('audit-1.log', all.slice(0, 400));
    write('audit-22.log', all.slice(400, 700));
    write('audit.log', all.slice(700), '{"half":');
    let found = await page({ per_page: '170' });
    const ids = idsOf(found);
    renameSync(file, path.join(directory, 'audit-333.log'));
    write('audit.log', [record(5_000)]);
    while (found.nextToken !== '') {
      found = await page({ per_page: '170', next_token: found.nextToken });
      ids.push(...idsOf(found));
    }
    expect(ids).toEqual(numbers(0, 1_000).toReversed());
  });

  it('AU-282: by who, where, what, how it ended and when', async () => {
    write('audit.log', [
      record(0, { accessor: 'a2' }),
      record(1, { status: 403 }),
      record(2, { object: 'web/api' }),
      record(3),
    ]);
    expect(idsOf(await page({ accessor: 'a2' }))).toEqual([0]);
    expect(idsOf(await page({ status: '403' }))).toEqual([1]);
    expect(idsOf(await page({ object: 'web' }))).toEqual([2]);
    expect(idsOf(await page({ namespace: 'odd' }))).toEqual([3, 1]);
    expect(idsOf(await page({ namespace: '*' }))).toEqual([3, 2, 1, 0]);
    expect(idsOf(await page({ request: 'q3' }))).toEqual([3]);
    expect(idsOf(await page({ request: 'r3' }))).toEqual([3]);
    expect(idsOf(await page({ operation: 'put' }))).toEqual([]);
    expect(idsOf(await page({ stage: 'OperationReceived' }))).toEqual([]);
    const [from, to] = [1, 2].map((n) => new Date(TIME + n * 1_000).toISOString());
    expect(idsOf(await page({ from: from ?? '', to: to ?? '' }))).toEqual([2, 1]);
  });

  it('one request looks at so many records at most, and the next one goes on', async () => {
    write('audit.log', [record(0, { accessor: 'rare' }), ...numbers(1, 6_000).map((n) => record(n))]);
    const first = await page({ accessor: 'rare' });
    expect(idsOf(first)).toEqual([]);
    const second = await page({ accessor: 'rare', next_token: first.nextToken });
    expect([idsOf(second), second.nextToken]).toEqual([[0], '']);
  });

  it('without a file there is nothing', async () => expect(idsOf(await page({}))).toEqual([]));

  it.each([
    ['next_token', '../../etc/passwd'],
    ['status', '42'],
    ['stage', 'Received'],
    ['from', 'yesterday'],
    ['per_page', 'x'],
  ])('%s=%s is refused', async (name, value) => {
    write('audit.log', [record(0)]);
    await expect(page({ [name]: value })).rejects.toMatchObject({ code: 'invalid' });
  });
});
