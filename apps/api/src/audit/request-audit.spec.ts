import { Acl } from '@waybill/acl';
import { FakeTime, settle } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { beforeEach, describe, expect, it } from 'vitest';
import { anonymous, type Caller } from '../access/caller.js';
import { type LeavesOut, leavesOut } from './audit-filter.js';
import { AuditLog } from './audit-log.js';
import type { AuditRecord } from './audit-record.js';
import { RequestAudit } from './request-audit.js';

const EVERYTHING = [{ name: 'all', endpoints: ['*'], stages: ['*' as const], operations: ['*'] }];

let written: AuditRecord[];
let fails: boolean;
let dropped: number;
let caller: Caller | undefined;
let closed: () => void;
let ids: number;
beforeEach(() => {
  [written, fails, dropped, caller, ids] = [[], false, 0, undefined, 0];
});

interface Wanted {
  readonly isEnforced?: boolean;
  readonly hides?: LeavesOut;
  readonly url?: string;
  readonly method?: string;
  readonly body?: Buffer;
  readonly credential?: string;
  readonly isAccessControlOn?: boolean;
}

function audited(wanted: Wanted = {}): RequestAudit {
  const { method = 'GET', url = '/v1/jobs' } = wanted;
  const log = new AuditLog({
    sinks: [
      {
        name: 'memory',
        write: async (line) => {
          if (fails) throw new Error('no space left on device');
          expect(line.indexOf('\n')).toBe(line.length - 1);
          written.push(JSON.parse(line) as AuditRecord);
        },
        reopen: async () => {},
        close: async () => {},
      },
    ],
    isEnforced: wanted.isEnforced ?? true,
    leavesOut: wanted.hides ?? leavesOut([]),
    clock: new FakeTime(),
    newId: () => `id${ids++}`,
    logger: silentLogger,
    dropped: () => dropped++,
  });
  const recorder = {
    log,
    region: 'global',
    isAccessControlOn: wanted.isAccessControlOn ?? true,
    fingerprint: (text: string) => `hash of ${text}`,
    elapsed: () => 0,
  };
  const seen = {
    id: 'r1',
    method,
    url,
    route: url,
    query: {},
    userAgent: '',
    credential: wanted.credential,
    remoteAddress: '',
    localAddress: '',
  };
  return new RequestAudit(recorder, seen, {
    caller: () => caller,
    traceId: () => 't1',
    body: () => wanted.body,
    sentBytes: () => 70,
    whenClosed: (run) => (closed = run),
  });
}

const stages = (): string[] => written.map(({ payload }) => payload.stage);

describe('the records of a request', () => {
  it('AU-272 AU-276: two, with the same id; the second with the answer', async () => {
    const audit = audited();
    await audit.received();
    caller = anonymous(Acl.none);
    await audit.completed({ status: 404, error: 'job not found' });
    expect(stages()).toEqual(['OperationReceived', 'OperationComplete']);
    expect(new Set(written.map(({ payload }) => payload.request.id))).toEqual(new Set(['r1']));
    expect(new Set(written.map(({ payload }) => payload.id)).size).toBe(2);
    expect(written[0]?.payload.response).toBeUndefined();
    expect(written[1]?.payload.response).toEqual({ status_code: 404, error: 'job not found', duration_ms: 0 });
    expect(written[1]?.payload.request.trace_id).toBe('t1');
  });

  it('AU-272: of a stream three, the last one when it ends', async () => {
    const audit = audited();
    await audit.received();
    await audit.beginsStream(200);
    expect(stages()).toEqual(['OperationReceived', 'OperationComplete']);
    closed();
    closed();
    await audit.completed({ status: 200 });
    expect(stages()).toEqual(['OperationReceived', 'OperationComplete', 'OperationClosed']);
    expect(written[2]?.payload.response).toEqual({ status_code: 200, duration_ms: 0, bytes: 0 });
  });

  it('AU-276: a write names its transaction, a refused one its request, a read no index', async () => {
    for (const answered of [
      { status: 200, index: 17 },
      { status: 409, index: 0 },
    ]) {
      const audit = audited({ method: 'PUT' });
      await audit.received();
      audit.writes('q1');
      await audit.completed(answered);
    }
    const read = audited();
    await read.received();
    await read.completed({ status: 200, index: 17 });
    expect(written.map(({ payload }) => [payload.response?.request_id, payload.response?.index])).toEqual([
      [undefined, undefined],
      ['q1', 17],
      [undefined, undefined],
      ['q1', undefined],
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });

  it('AU-275: of a change the hash of its body, of a read none, never the body', async () => {
    for (const method of ['PUT', 'GET']) {
      const audit = audited({ method, body: Buffer.from('hunter2') });
      await audit.received();
      await audit.completed({ status: 200 });
    }
    expect(written[1]?.payload.request.body_sha256).toBe(
      'f52fbd32b2b3b86ff88ef6c490628285f482af15ddcb29541f94bcf526a3f6c7',
    );
    expect(written[3]?.payload.request.body_sha256).toBeUndefined();
    expect(JSON.stringify(written)).not.toContain('hunter2');
  });

  it('AU-274: while access control is off everybody is nobody; before a token is looked at it is unchecked; then invalid', async () => {
    await audited({ isAccessControlOn: false, credential: 'x' }).received();
    await audited().received();
    const audit = audited({ credential: 'x' });
    await audit.received();
    audit.refused('x');
    await audit.completed({ status: 403 });
    expect(written.map(({ payload }) => payload.auth)).toEqual([
      { accessor_id: 'acls-disabled' },
      { accessor_id: 'anonymous' },
      { accessor_id: 'unchecked' },
      { accessor_id: 'invalid', credential_hash: 'hash of x' },
    ]);
  });
});

it('AU-274: a login names the method, and who logged in by its issuer, in the record of the answer', async () => {
  const audit = audited({ method: 'PUT', url: '/v1/acl/login' });
  await audit.received();
  audit.loggedIn({ method: 'ci', issuer: 'https://ci.example', subject: 's'.repeat(2_000) });
  await audit.completed({ status: 200 });
  expect(written.map(({ payload }) => payload.auth)).toEqual([
    { accessor_id: 'anonymous' },
    { accessor_id: 'anonymous', auth_method: 'ci', issuer: 'https://ci.example', subject: 's'.repeat(1_024) },
  ]);
});

describe('filters', () => {
  it('AU-280: leave requests out, but no refused one: both of its records are written', async () => {
    for (const status of [200, 403]) {
      const audit = audited({ hides: leavesOut(EVERYTHING) });
      await audit.received();
      await audit.completed({ status });
    }
    expect(stages()).toEqual(['OperationReceived', 'OperationComplete']);
    expect(written[1]?.payload.response?.status_code).toBe(403);
  });

  it('AU-280: leave nothing out that is about access control', async () => {
    const audit = audited({ hides: leavesOut(EVERYTHING), url: '/v1/acl/tokens' });
    await audit.received();
    await audit.completed({ status: 200 });
    expect(stages()).toHaveLength(2);
  });
});

describe('a sink that cannot be written', () => {
  const NOT_WRITTEN = { code: 'internal', message: 'failed to write audit record' };

  it('AU-278: enforced, nothing is done, and nothing more is said of the request', async () => {
    fails = true;
    const audit = audited();
    await expect(audit.received()).rejects.toMatchObject(NOT_WRITTEN);
    fails = false;
    await audit.completed({ status: 500 });
    expect([written, dropped]).toEqual([[], 0]);
  });

  it('AU-278: enforced, the answer of what was done is replaced', async () => {
    const audit = audited();
    await audit.received();
    fails = true;
    await expect(audit.completed({ status: 200 })).rejects.toMatchObject(NOT_WRITTEN);
    const stream = audited();
    fails = false;
    await stream.received();
    fails = true;
    await expect(stream.beginsStream(200)).rejects.toMatchObject(NOT_WRITTEN);
  });

  it.each([
    ['best-effort', { isEnforced: false }],
    ['of what watches the server', { url: '/v1/agent/health' }],
    ['of its metrics', { url: '/v1/metrics' }],
  ])('AU-278: %s, the request goes on, and the record is counted', async (_, wanted) => {
    fails = true;
    const audit = audited(wanted);
    await audit.received();
    await audit.completed({ status: 200 });
    await settle();
    expect(dropped).toBe(2);
  });
});
