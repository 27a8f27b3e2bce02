import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

const EVAL = '6b4c1d2e-0000-4000-8000-000000000001';
const NEXT = '7c4c1d2e-0000-4000-8000-000000000002';
const NODE = '1f3a9c2e-0000-4000-8000-000000000003';

describe('watching an evaluation', () => {
  let api: RecordedApi;
  beforeEach(async () => {
    api = await RecordedApi.start();
    api.play('GET /v1/evaluations', [{ ID: EVAL, Status: 'pending' }]);
    api.play(`GET /v1/evaluation/${EVAL}/allocations`, []);
    api.play(`GET /v1/evaluation/${NEXT}/allocations`, []);
  });
  afterEach(() => api.stop());

  const watch = () => api.run(['eval', 'status', '-monitor', '6b4c']);
  const evaluation = { ID: EVAL, JobID: 'web', Status: 'pending', CreateIndex: 20 };
  const alloc = (n: number, other: object = {}) => ({
    ID: `${String(n).repeat(8)}-0000-4000-8000-000000000000`,
    NodeID: NODE,
    TaskGroup: 'cache',
    DesiredStatus: 'run',
    ClientStatus: 'pending',
    ClientDescription: '',
    CreateIndex: 20,
    ...other,
  });

  it('CL-201, CL-202, CL-203, CL-204: only what changed, allocations by ID, what was read before says nothing', async () => {
    const first = { ...evaluation, TriggeredBy: 'node-update', NodeID: NODE };
    api.play(
      `GET /v1/evaluation/${EVAL}`,
      first,
      first,
      { ...first, Status: 'blocked', DeploymentID: 'a1b2c3d4-0000' },
      { ...first, Status: 'pending', DeploymentID: 'a1b2c3d4-0000' },
      { ...first, Status: 'canceled', DeploymentID: '' },
    );
    const failed = { ClientStatus: 'failed', ClientDescription: 'Failed tasks' };
    const unwanted = alloc(3, { DesiredStatus: 'stop' });
    const [moved, fresh] = [alloc(2, { CreateIndex: 7 }), alloc(1)];
    api.play(
      `GET /v1/evaluation/${EVAL}/allocations`,
      [unwanted, moved, fresh],
      [unwanted, moved, fresh],
      [unwanted, moved, alloc(1, { ClientStatus: 'running' })],
      [unwanted, moved, alloc(1, failed)],
    );
    const { code, out } = await watch();
    expect(out).toBe(
      [
        '==> <ts>: Monitoring evaluation "6b4c1d2e"',
        '    <ts>: Evaluation triggered by node "1f3a9c2e"',
        '    <ts>: Evaluation triggered by job "web"',
        '    <ts>: Allocation "11111111" created: node "1f3a9c2e", group "cache"',
        '    <ts>: Allocation "22222222" modified: node "1f3a9c2e", group "cache"',
        '    <ts>: Evaluation within deployment: "a1b2c3d4"',
        '    <ts>: Allocation "11111111" status changed: "pending" -> "running"',
        '    <ts>: Evaluation status changed: "pending" -> "blocked"',
        '    <ts>: Allocation "11111111" status changed: "running" -> "failed" (Failed tasks)',
        '    <ts>: Evaluation status changed: "pending" -> "canceled"',
        '==> <ts>: Evaluation "6b4c1d2e" finished with status "canceled"',
        '',
      ].join('\n'),
    );
    expect(code).toBe(0);
  });

  it('CL-206: the next evaluation after its wait, from a clean state; the last one decides', async () => {
    api.play(`GET /v1/evaluation/${EVAL}`, { ...evaluation, Status: 'failed', NextEval: NEXT, Wait: 20_000_000 });
    api.play(`GET /v1/evaluation/${NEXT}`, {
      ...evaluation,
      ID: NEXT,
      Status: 'complete',
      FailedTGAllocs: { cache: { NodesEvaluated: 0 } },
    });
    const { code, out } = await watch();
    expect(code).toBe(2);
    expect(out).toContain(
      '==> <ts>: Monitoring next evaluation "7c4c1d2e" in 20ms\n' +
        '==> <ts>: Monitoring evaluation "7c4c1d2e"\n' +
        '    <ts>: Evaluation triggered by job "web"\n',
    );
  });

  it('CL-208, CL-209: an evaluation or allocations that may not be read', async () => {
    api.play(`GET /v1/evaluation/${EVAL}`, [404, 'eval not found'], [403, 'Permission denied'], evaluation);
    expect(await watch()).toMatchObject({ code: 1, err: `==> No evaluation with id "${EVAL}" found\n` });
    expect((await watch()).err).toBe(
      `==> No evaluation with id "${EVAL}" found\nUnexpected response code: 403 (Permission denied)\n`,
    );
    api.play(`GET /v1/evaluation/${EVAL}/allocations`, [403, 'Permission denied']);
    const { code, err } = await watch();
    expect(code).toBe(1);
    expect(err).toMatch(/^==> .*: Error reading allocations: Unexpected response code: 403 \(Permission denied\)\n$/);
  });
});
