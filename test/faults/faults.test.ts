import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freeze, thaw } from '../support/freeze.js';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { CONTROL_PLANE, type ServiceName, WaybillProcesses } from '../support/waybill-processes.js';

/** What a worker had in hand when it was killed is handed out again after this long (EB-66). */
const NACK_TIMEOUT_MS = 60_000;
const TEST_TIMEOUT_MS = 180_000;

let waybill: WaybillProcesses;
let api: ApiClient;

beforeAll(async () => {
  waybill = await WaybillProcesses.start();
  api = waybill.api;
  await eventually('the node is ready', async () =>
    (await api.get<{ Status: string }[]>('/v1/nodes')).some((node) => node.Status === 'ready'),
  );
});
afterAll(() => waybill?.stop());

interface Alloc {
  ID: string;
  ClientStatus: string;
  DesiredStatus: string;
}

/** Registers until it was acknowledged, as a client that retries would. Returns the ids that were. */
async function submitJobs(prefix: string, count: number): Promise<string[]> {
  const acknowledged: string[] = [];
  for (let i = 0; i < count; i++) {
    const id = `${prefix}-${i}`;
    await eventually(
      `${id} is acknowledged`,
      () => api.register(shellJob(id, 'exec sleep 600')).catch(() => undefined),
      30_000,
    );
    acknowledged.push(id);
  }
  return acknowledged;
}

async function expectEachRunsOnce(ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const allocs = await eventually(
      `${id} runs`,
      async () => {
        const found = await api.get<Alloc[]>(`/v1/job/${id}/allocations`);
        return found.some((a) => a.ClientStatus === 'running') && found;
      },
      NACK_TIMEOUT_MS + 30_000,
    );
    expect(allocs.filter((a) => a.DesiredStatus === 'run')).toHaveLength(1);
  }
}

async function stopJobs(ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id) => api.stop(id, true)));
}

describe('kill -9, while jobs are being submitted', () => {
  it.each([...CONTROL_PLANE])(
    'of %s: nothing acknowledged is lost, nothing runs twice',
    async (service: ServiceName) => {
      const submitting = submitJobs(`kill-${service}`, 6);
      await waybill.kill(service);
      await waybill.startService(service);
      const ids = await submitting;
      await expectEachRunsOnce(ids);
      await stopJobs(ids);
    },
    TEST_TIMEOUT_MS,
  );

  it('of nats-server: writes go on by themselves when it returns', async () => {
    const submitting = submitJobs('kill-nats', 6);
    process.kill(waybill.stack.nats.pid, 'SIGKILL');
    const ids = await submitting;
    await expectEachRunsOnce(ids);
    await stopJobs(ids);
  });

  it('of postgres: scheduling goes on, reads catch up', async () => {
    const submitting = submitJobs('kill-postgres', 6);
    process.kill(waybill.stack.postgres.pid, 'SIGKILL');
    const ids = await submitting;
    await expectEachRunsOnce(ids);
    await stopJobs(ids);
  });
});

describe('a holder that is frozen past its lease', () => {
  it('ST-15: a successor acts; what the frozen one writes when it wakes up is void', async () => {
    await waybill.startService('broker', 'broker-2');
    const frozen = waybill.pid('broker');
    await eventually('broker holds the role', () => holds('broker'));
    await freeze(frozen);
    try {
      await eventually('broker-2 has taken over', () => holds('broker-2'), 10_000);
      const ids = await submitJobs('frozen', 3);
      await expectEachRunsOnce(ids);
      await stopJobs(ids);
    } finally {
      thaw(frozen);
    }
    await eventually('the old holder knows', async () => !(await holds('broker')));
    const after = await submitJobs('thawed', 2);
    await expectEachRunsOnce(after);
    await stopJobs(after);
    await waybill.kill('broker-2', 'SIGTERM');
    await eventually('the role goes back', () => holds('broker'));
  });
});

async function holds(name: string): Promise<boolean> {
  const answer = (await (await fetch(`${waybill.opsUrl(name)}/readyz`)).json()) as { role: string };
  return answer.role.startsWith('holder');
}

describe('a machine that vanishes', () => {
  it('node down: its work is replaced elsewhere', async () => {
    await waybill.startService('agent', 'agent-2', {
      WAYBILL_AGENT_DIR: `${waybill.dir}/agent-2`,
      WAYBILL_NODE_NAME: 'test-node-2',
    });
    await eventually(
      'two nodes are ready',
      async () => (await api.get<{ Status: string }[]>('/v1/nodes')).filter((n) => n.Status === 'ready').length === 2,
    );
    await api.register({ ...shellJob('moves', 'exec sleep 600', { count: 4 }), Spreads: [] });
    const nodeIds = await eventually('all run', async () => {
      const found = await api.get<(Alloc & { NodeID: string })[]>('/v1/job/moves/allocations');
      return found.filter((a) => a.ClientStatus === 'running').length === 4 && found.map((a) => a.NodeID);
    });
    const nodes = await api.get<{ ID: string; Name: string }[]>('/v1/nodes');
    const lost = nodes.find((n) => n.ID === nodeIds[0]);
    const victim = lost?.Name === 'test-node-2' ? 'agent-2' : 'agent';
    await waybill.kill(victim);
    await eventually(
      'all run on the other machine',
      async () => {
        const found = await api.get<(Alloc & { NodeID: string })[]>('/v1/job/moves/allocations');
        const good = found.filter((a) => a.ClientStatus === 'running' && a.DesiredStatus === 'run');
        return good.length === 4 && good.every((a) => a.NodeID !== lost?.ID);
      },
      60_000,
    );
    await stopJobs(['moves']);
  }, 90_000);
});
