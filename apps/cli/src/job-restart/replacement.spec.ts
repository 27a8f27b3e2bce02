import { describe, expect, it } from 'vitest';
import { listedAllocation, RestartedJob } from './restarted-job.fixture.js';

describe('replacing an allocation', () => {
  it('JR-602, JR-605, JR-703, JR-E11: the chain is followed until one of it runs', async () => {
    const run = new RestartedJob(['-reschedule', '-no-shutdown-delay', '-verbose', 'web']);
    await run.time.pass(0);
    expect(run.server.calls).toEqual(['deployments', 'stop a1 no_shutdown_delay']);
    run.server.change('b', { ClientStatus: 'failed', NextAllocation: 'c' });
    run.server.change('c', {});
    run.server.change('a1', { DesiredStatus: 'stop', NextAllocation: 'b' });
    await run.time.pass(0);
    expect(run.exitCode).toBeUndefined();
    run.server.change('c', { ClientStatus: 'running' });
    await run.time.pass(0);
    expect(run.exitCode).toBe(0);
    expect(run.server.calls).not.toContain('evaluate');
    expect(run.out).toContain(
      '    <ts>: Rescheduling allocation "a1" for group "web"\n' +
        '    <ts>: Allocation "a1" replaced by "b", waiting for "b" to start running\n' +
        '    <ts>: Allocation "b" replaced by "c", waiting for "c" to start running\n' +
        '    <ts>: Allocation "c" is "pending"\n' +
        '    <ts>: Allocation "c" is "running"\n',
    );
    expect(run.time.pending).toBe(0);
  });

  it('JR-602: without the flag the parameter is not sent; JR-703: the original that still runs is no success', async () => {
    const run = new RestartedJob(['-reschedule', 'web']);
    run.server.change('a1', { DesiredStatus: 'stop' });
    await run.time.pass(1_000);
    expect(run.server.calls).toContain('stop a1');
    expect(run.exitCode).toBeUndefined();
  });

  it('JR-706: a replacement that runs is enough, healthy or not', async () => {
    const run = new RestartedJob(['-reschedule', 'web']);
    const unhealthy = { ClientStatus: 'running', DeploymentStatus: { Healthy: false } } as const;
    run.server.change('b', unhealthy);
    run.server.change('a1', { DesiredStatus: 'stop', NextAllocation: 'b' });
    await run.time.pass(0);
    expect(run.exitCode).toBe(0);
  });

  it('JR-601: a stop that fails is all there is to it', async () => {
    const run = new RestartedJob(['-reschedule', 'web']);
    run.server.on = (call) => {
      if (call === 'stop a1') throw new Error('no');
    };
    await run.time.pass(0);
    expect(run.exitCode).toBe(1);
    expect(run.err).toContain('* Error restarting allocation "a1": Failed to stop allocation: no\n');
  });

  it('JR-701, JR-704, JR-503, JR-705: a blocked evaluation since the stop is a failure that stops -yes', async () => {
    const run = new RestartedJob(['-reschedule', '-yes', 'web'], 2);
    const blocked = (ID: string, CreateIndex: number, group = 'web', Status = 'blocked') =>
      ({
        ID,
        CreateIndex,
        Status,
        FailedTGAllocs: { [group]: { NodesEvaluated: 1, NodesExhausted: 1, DimensionExhausted: { memory: 1 } } },
      }) as never;
    await run.time.pass(0);
    run.server.evaluated(blocked('older', 50));
    run.server.evaluated(blocked('other group', 500, 'db'));
    run.server.evaluated(blocked('complete', 500, 'web', 'complete'));
    await run.time.pass(0);
    expect(run.exitCode).toBeUndefined();
    run.server.evaluated(blocked('e1', 500));
    await run.time.pass(0);
    expect(run.exitCode).toBe(1);
    expect(run.server.calls).toEqual(['deployments', 'stop a2']);
    expect(run.out).toContain('Stopping job restart due to unrecoverable error');
    expect(run.err).toBe(
      '\n1 error occurred while restarting job:\n' +
        '* Error restarting allocation "a2": Evaluation "e1" has placement failures for group "web":\n' +
        '    * Resources exhausted on 1 nodes\n    * Dimension "memory" exhausted on 1 nodes\n',
    );
    expect(run.time.pending).toBe(0);
  });

  it('JR-703, JR-E04: a failed read names the allocation that was asked for', async () => {
    const run = new RestartedJob(['-reschedule', 'web']);
    run.server.on = (call) => {
      if (call === 'read b') throw new Error('500');
    };
    run.server.change('a1', { DesiredStatus: 'stop', NextAllocation: 'b' });
    await run.time.pass(0);
    expect(run.exitCode).toBe(1);
    expect(run.err).toContain('Failed to retrieve allocation "b": 500\n');
  });

  it('JR-702: evaluations that cannot be read', async () => {
    const run = new RestartedJob(['-reschedule', 'web']);
    run.server.on = (call) => {
      if (call === 'evaluations') throw new Error('500');
    };
    await run.time.pass(0);
    run.server.change('a1', { DesiredStatus: 'stop' });
    await run.time.pass(0);
    expect(run.exitCode).toBe(1);
    expect(run.err).toContain('allocation "a1": Failed to retrieve evaluations for job "web": 500\n');
  });

  it('JR-308: what is replaced meanwhile is followed, what comes to be is not added', async () => {
    const run = new RestartedJob(['-reschedule', 'web'], 2);
    run.server.change('a1', { NextAllocation: 'c' });
    run.server.change('c', { ClientStatus: 'running' });
    run.server.change('d', { ClientStatus: 'running' });
    run.server.change('a2', { DesiredStatus: 'stop', NextAllocation: 'd' });
    await run.time.pass(0);
    expect(run.server.calls.filter((call) => call.startsWith('stop'))).toEqual(['stop a2', 'stop a1']);
    expect(run.exitCode).toBe(0);
  });

  it('JR-603, JR-607, JR-E02: a system job is evaluated once per allocation, after each one has stopped', async () => {
    const run = new RestartedJob(['-reschedule', '-batch-size=100%', 'web'], 3, 'system');
    await run.time.pass(0);
    expect(run.server.calls.filter((call) => call.startsWith('stop'))).toHaveLength(3);
    expect(run.server.calls).not.toContain('evaluate');
    for (const id of ['a1', 'a2', 'a3']) {
      run.server.change(id, { DesiredStatus: 'stop' });
      run.server.change(`${id}-next`, { ClientStatus: 'running' });
      await run.time.pass(0);
    }
    expect(run.server.calls.filter((call) => call === 'evaluate')).toHaveLength(3);
    for (const id of ['a1', 'a2', 'a3']) run.server.change(id, { NextAllocation: `${id}-next` });
    await run.time.pass(0);
    expect(run.exitCode).toBe(0);
  });

  it('JR-603: an evaluation that is refused', async () => {
    const run = new RestartedJob(['-reschedule', 'web'], [listedAllocation(1, 'system')], 'system');
    run.server.on = (call) => {
      if (call === 'evaluate') throw new Error('no');
    };
    run.server.change('a1', { DesiredStatus: 'stop' });
    await run.time.pass(0);
    expect(run.err).toContain('* Error restarting allocation "a1": Failed evaluate job: no\n');
  });

  it('JR-705, JR-707, JR-E22: every minute a word; a job that was stopped ends the waiting', async () => {
    const run = new RestartedJob(['-reschedule', 'web']);
    await run.time.pass(120_000);
    expect(run.out.match(/ {4}<ts>: Still waiting for allocation "a1" to be replaced\n/g)).toHaveLength(2);
    run.server.jobIsStopped = true;
    await run.time.pass(60_000);
    expect(run.out).toContain('to be replaced, but job "web" is stopped\n');
    expect([run.exitCode, run.err.includes('Job "web" was stopped')]).toEqual([1, true]);
  });
});
