import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TOPICS } from '../../apps/cli/src/events/event-topics.js';
import { RecordedApi } from '../support/recorded-api.js';

const CONFIGURATION = '/v1/operator/autopilot/configuration';
const PEER = '1f3a9c2e-0000-4000-8000-000000000003';

let api: RecordedApi;
beforeEach(async () => {
  api = await RecordedApi.start();
});
afterEach(() => api.stop());

const operator = (...words: string[]) => api.run(['operator', ...words]);

describe('what there is no consensus for', () => {
  const server = {
    ID: PEER,
    Name: 'api.global',
    Address: '10.0.0.1:4647',
    SerfStatus: 'alive',
    Version: '2.0.4',
    Leader: true,
    Voter: true,
    Healthy: false,
    LastContact: '0s',
    LastTerm: 7,
    LastIndex: 812,
    StableSince: '2026-03-01T10:00:00Z',
  };

  it.each([
    [200, true],
    [429, false],
  ])('OP-65: autopilot health reads the answer, with status %i too', async (status, Healthy) => {
    const health = { Healthy, FailureTolerance: 1, Leader: PEER, Voters: [PEER], Servers: [server] };
    api.play('GET /v1/operator/autopilot/health', [status, JSON.stringify(health)]);
    const { code, out } = await operator('autopilot', 'health');
    expect(code).toBe(0);
    expect(out).toContain(`Healthy          = ${Healthy}\nFailureTolerance = 1\n`);
    expect(out).toMatch(/\nServers\nID .* Since\n1f3a9c2e-.* alive .* 812 +<ts>\n$/);
    expect(JSON.parse((await operator('autopilot', 'health', '-json')).out)).toMatchObject({ Healthy, Voters: [PEER] });
  });

  it('OP-64: autopilot is asked for what its flags say, beside what it has; its refusal is said', async () => {
    api.play(`GET ${CONFIGURATION}`, { CleanupDeadServers: true, MinQuorum: 0, LastContactThreshold: '200ms' });
    expect((await operator('autopilot', 'get-config')).out).toMatch(
      /^CleanupDeadServers += true\nLastContactThreshold += 200ms\n/,
    );
    api.play(`PUT ${CONFIGURATION}`, [501, 'there is no autopilot to configure']);
    const refused = await operator('autopilot', 'set-config', '-cleanup-dead-servers=false', '-min-quorum=3');
    expect(refused).toMatchObject({
      code: 1,
      err: 'Error setting Autopilot configuration: Unexpected response code: 501 (there is no autopilot to configure)\n',
    });
    expect(JSON.parse(api.seen.at(-1)?.body ?? '')).toEqual({
      CleanupDeadServers: false,
      MinQuorum: 3,
      LastContactThreshold: '200ms',
    });
    api.play(`PUT ${CONFIGURATION}`, (response) => void response.end('true'));
    expect(await operator('autopilot', 'set-config')).toMatchObject({ code: 0, out: 'Configuration updated!\n' });
  });

  it('OP-61, OP-62: peers are removed and told to lead, by what names them', async () => {
    api.play('DELETE /v1/operator/raft/peer', [409, `peer "${PEER}" is alive: stop its process to remove it`]);
    expect((await operator('raft', 'remove-peer', `-peer-id=${PEER}`)).err).toMatch(
      /^Error removing raft peer: .*is alive: stop its process/,
    );
    expect(api.seen[0]?.query.get('id')).toBe(PEER);
    const transfer = { From: {}, To: { ID: PEER, Address: '10.0.0.1:4647' }, Noop: true, Err: null };
    api.play('PUT /v1/operator/raft/transfer-leadership', transfer);
    expect(await operator('raft', 'transfer-leadership', '-peer-address=10.0.0.1:4647')).toMatchObject({
      code: 0,
      out: `Leads already: ${PEER} (10.0.0.1:4647)\n`,
    });
    for (const words of [
      ['remove-peer'],
      ['transfer-leadership'],
      ['transfer-leadership', '-peer-id=a', '-peer-address=b'],
    ])
      expect((await operator('raft', ...words)).code).toBe(1);
    expect(api.seen).toHaveLength(2);
  });
});

describe('the scheduler configuration', () => {
  const PATH = '/v1/operator/scheduler/configuration';
  const stored = {
    SchedulerConfig: {
      SchedulerAlgorithm: 'binpack',
      PreemptionConfig: { SystemSchedulerEnabled: true, ServiceSchedulerEnabled: false },
      MemoryOversubscriptionEnabled: false,
      PauseEvalBroker: false,
      ModifyIndex: 7,
    },
  };

  it('CL-801: is shown, and changed in what the flags say, against the index that was read', async () => {
    api.play(`GET ${PATH}`, stored);
    expect((await operator('scheduler', 'get-config')).out).toMatch(/^Scheduler Algorithm += binpack\n/);
    api.play(`PUT ${PATH}`, { Updated: true });
    const changed = await operator('scheduler', 'set-config', '-pause-eval-broker=true', '-scheduler-algorithm=spread');
    expect(changed).toMatchObject({ code: 0, out: 'Scheduler configuration updated!\n' });
    const put = api.seen.find(({ line }) => line.startsWith('PUT'));
    expect(JSON.parse(put?.body ?? '')).toMatchObject({
      SchedulerAlgorithm: 'spread',
      PauseEvalBroker: true,
      PreemptionConfig: { SystemSchedulerEnabled: true, ServiceSchedulerEnabled: false },
    });
    expect(put?.query.get('cas')).toBe('7');
  });

  it('CL-1112: of two that change it at once, the one that came late says that it has lost, and exits 1', async () => {
    api.play(`GET ${PATH}`, stored);
    api.play(`PUT ${PATH}`, { Updated: false });
    const lost = await operator('scheduler', 'set-config', '-pause-eval-broker=true');
    expect([lost.code, lost.out]).toEqual([1, expect.stringContaining('could not be atomically updated')]);
  });
});

it('CL-1111: evaluations that may not be deleted any more since somebody went on: the refusal is shown, exit 1', async () => {
  const EVAL = '6b4c1d2e-0000-4000-8000-000000000001';
  api.play('GET /v1/operator/scheduler/configuration', { SchedulerConfig: { PauseEvalBroker: true } });
  api.play('GET /v1/evaluation/' + EVAL, { ID: EVAL, Status: 'pending' });
  api.play('DELETE /v1/evaluations', [409, 'eval broker is enabled; eval broker must be paused to delete evals']);
  const { code, out, err } = await api.run(['eval', 'delete', EVAL]);
  expect([code, err]).toEqual([
    1,
    'Error deleting evaluations: Unexpected response code: 409 (eval broker is enabled; eval broker must be paused to delete evals)\n',
  ]);
  expect(out).not.toContain('Successfully');
});

it('CL-935: config validate says what agent would say of its files, without starting anything', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'waybill-cli-'));
  try {
    const file = path.join(directory, 'agent.hcl');
    const validated = async (text: string) => {
      await writeFile(file, text);
      return api.run(['config', 'validate', file]);
    };
    expect(await validated('data_dir = "/d"\nserver {\n  enabled = true\n}\nvault {}')).toEqual({
      code: 0,
      out: 'Configuration is valid!\n',
      err: 'Without effect here: vault\n',
    });
    expect((await validated('data_dir = "/d"')).err).toBe(
      'Must specify either server, client or dev mode for the agent.\n',
    );
    expect((await validated('server {\n  enabled = true\n}')).err).toContain('Must specify "data_dir" config option');
    expect(await validated('client {')).toMatchObject({ code: 1, err: expect.stringContaining('agent.hcl:1,') });
    expect((await api.run(['config', 'validate'])).code).toBe(1);
    expect(api.seen).toEqual([]);
  } finally {
    await rm(directory, { recursive: true });
  }
});

it('CL-906: monitor asks for the log of the machine or the server that is named, and ends well with Ctrl-C', async () => {
  api.play('GET /v1/nodes', [{ ID: PEER, Name: 'n' }]);
  api.play('GET /v1/agent/monitor', (response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.write('{}{"Offset":4,"Data":"b25lCg==","File":"log"}');
  });
  const monitor = await api.run(['monitor', '-node-id=1f3a', '-log-level=debug', '-json'], {}, /one/);
  expect(monitor).toMatchObject({ code: 0, out: 'one\n', err: '' });
  expect(Object.fromEntries(api.seen.at(-1)?.query ?? [])).toMatchObject({
    node_id: PEER,
    log_level: 'debug',
    log_json: 'true',
  });
  await api.run(['monitor', '-server-id=leader'], {}, /one/);
  expect(api.seen.at(-1)?.query.get('server_id')).toBe('leader');
  expect((await api.run(['monitor', '-node-id=1'])).err).toBe('Node ID must contain at least two characters.\n');
  api.play('GET /v1/agent/monitor', [404, 'No path to node']);
  expect((await api.run(['monitor'])).err).toMatch(/^Error starting monitor: .*No path to node/);
});

it('CL-1012: the topics, their keys and what each needs, without a request', async () => {
  const { code, out } = await api.run(['event', 'topics']);
  const rows = out
    .trimEnd()
    .split('\n')
    .map((row) => row.split(/ {2,}/));
  expect([code, rows[0]]).toEqual([0, ['Topic', 'Keys', 'Capability']]);
  expect(rows).toContainEqual(['Allocation', 'ID, job ID, deployment ID', 'read-job']);
  expect(rows).toHaveLength(TOPICS.length + 1);
  expect(api.seen).toEqual([]);
});

it('CL-140: maps come in the order of their keys, whatever order the server has them in', async () => {
  api.play('GET /v1/agent/self', { stats: { runtime: { b: '2', a: '1' }, broker: { z: '26' } } });
  expect((await api.run(['agent-info'])).out.replaceAll(/ +/g, ' ').trimEnd().split('\n')).toEqual([
    'broker',
    ' z = 26',
    'runtime',
    ' a = 1',
    ' b = 2',
  ]);
  api.play('GET /v1/agent/members', {
    ServerName: 's1',
    Members: [
      { Name: 's1', Addr: '10.0.0.1', Port: 4648, Status: 'alive', Tags: { vsn: '1', region: 'global', dc: 'dc1' } },
    ],
  });
  api.play('GET /v1/status/leader', '10.0.0.1:4647');
  expect((await api.run(['server', 'members', '-verbose'])).out).toContain('dc=dc1,region=global,vsn=1');
});
