import { describe, expect, it } from 'vitest';
import { listedAllocation, RestartedJob } from './restarted-job.fixture.js';

const fails =
  (failing: string, text = 'Task not running') =>
  (call: string) => {
    if (call === failing) throw new Error(text);
  };
const restarts = (run: RestartedJob) => run.server.calls.filter((call) => call.startsWith('restart'));

describe('batches of a restart in place', () => {
  it('JR-403, JR-404, JR-406, JR-407, JR-901, JR-902, JR-996: newest first, a look at the deployments before each, one batch after the other', async () => {
    const run = new RestartedJob(['-batch-size=2', 'web'], 5);
    let finish = () => {};
    run.server.on = (call) => (call === 'restart a4' ? new Promise<void>((resolve) => (finish = resolve)) : undefined);
    await run.time.pass(0);
    expect(run.server.calls).toEqual(['deployments', 'restart a5', 'deployments', 'restart a4']);
    finish();
    await run.time.pass(0);
    expect(restarts(run)).toEqual(['restart a5', 'restart a4', 'restart a3', 'restart a2', 'restart a1']);
    expect(run.server.calls.filter((call) => call === 'deployments')).toHaveLength(5);
    expect(run.exitCode).toBe(0);
    const line = (n: number) => `    <ts>: Restarting running tasks in allocation "a${n}" for group "web"\n`;
    expect(run.out).toBe(
      '==> <ts>: Restarting 5 allocations\n' +
        `==> <ts>: Restarting 1st batch of 2 allocations\n${line(5)}${line(4)}` +
        `==> <ts>: Restarting 2nd batch of 2 allocations\n${line(3)}${line(2)}` +
        `==> <ts>: Restarting 3rd batch of 1 allocations\n${line(1)}` +
        '==> <ts>: Job restart finished\n\nJob restarted successfully!\n',
    );
  });

  it('JR-408, JR-E13: a pause between batches, said once, none after the last', async () => {
    const run = new RestartedJob(['-batch-wait=10s', 'web'], 2);
    await run.time.pass(9_999);
    expect(restarts(run)).toEqual(['restart a2']);
    await run.time.pass(1);
    expect([restarts(run).length, run.exitCode]).toEqual([2, 0]);
    expect(run.out.match(/Waiting 10s before restarting the next batch/g)).toHaveLength(1);
    expect(run.out).toContain('==> <ts>: Restarting 2 allocations\n    <ts>: Restarting running');
  });

  it('JR-903: each line is written whole, whatever is written by others meanwhile', async () => {
    const run = new RestartedJob(['-batch-size=100%', 'web'], 4);
    await run.time.pass(0);
    const lines = run.writes.filter((text) => text.includes('Restarting running tasks'));
    expect(lines).toHaveLength(4);
    for (const line of lines) expect(line).toMatch(/^ {4}<ts>: [^\n]+\n$/);
  });

  it('JR-902: one allocation', async () => {
    const run = new RestartedJob(['-all-tasks', 'web'], 1);
    await run.time.pass(0);
    expect(run.out).toContain('==> <ts>: Restarting 1 allocation\n');
    expect(run.out).toContain('Restarting all tasks in allocation "a1"');
    expect(restarts(run)).toEqual(['restart a1 all']);
  });

  it('JR-553, JR-511: each task by itself; one that fails does not keep the others', async () => {
    const alloc = { ...listedAllocation(1), TaskStates: { main: {}, side: {}, log: {} } as never };
    const run = new RestartedJob(['-task=main', '-task=side', 'web'], [alloc]);
    run.server.on = (call) => {
      if (call !== 'deployments') throw new Error('Task not running');
    };
    await run.time.pass(0);
    expect(restarts(run)).toEqual(['restart a1 main', 'restart a1 side']);
    expect(run.out).toContain('    <ts>: Restarting task "side" in allocation "a1" for group "web"\n');
    expect(run.err).toBe(
      '\n2 errors occurred while restarting job:\n' +
        '* Error restarting allocation "a1": Failed to restart task "main": Task not running\n' +
        '* Error restarting allocation "a1": Failed to restart task "side": Task not running\n',
    );
    expect(run.exitCode).toBe(1);
  });

  it('JR-404, JR-405, JR-E10: a deployment ends it; what was begun is awaited, and its errors are told', async () => {
    const run = new RestartedJob(['-batch-size=3', '-yes', 'web'], 3);
    let fail: (error: Error) => void = () => {};
    run.server.on = (call) => {
      if (call !== 'restart a3') return;
      run.server.activeDeployments = [
        { ID: 'd1', Status: 'successful' },
        { ID: 'd2', Status: 'paused' },
      ];
      return new Promise<void>((_, reject) => (fail = reject));
    };
    await run.time.pass(0);
    expect(run.exitCode).toBeUndefined();
    fail(new Error('boom'));
    await run.time.pass(0);
    expect([restarts(run), run.exitCode]).toEqual([['restart a3'], 1]);
    expect(run.err).toContain(
      '* Error restarting allocation "a3": Failed to restart allocation: boom\n* Deployment "d2" is "paused"\n',
    );
  });

  it('JR-404: deployments that cannot be read end it too', async () => {
    const run = new RestartedJob(['-yes', 'web'], 2);
    run.server.on = fails('deployments', 'no');
    await run.time.pass(0);
    expect([restarts(run), run.exitCode]).toEqual([[], 1]);
    expect(run.err).toContain('* Error retrieving deployments for job "web": no\n');
  });
});

describe('errors and questions', () => {
  it('JR-501, JR-E07: -on-error=fail ends after the batch', async () => {
    const run = new RestartedJob(['-on-error=fail', 'web'], 3);
    run.server.on = fails('restart a2');
    await run.time.pass(0);
    expect([restarts(run).length, run.exitCode]).toEqual([2, 1]);
    expect(run.out).toContain(
      '==> <ts>: Stopping job restart due to error\n==> <ts>: Job restart finished with errors\n',
    );
  });

  it('JR-501, JR-509, JR-E08, JR-906: -yes goes on over an ordinary error', async () => {
    const run = new RestartedJob(['-yes', 'web'], 5);
    run.server.on = fails('restart a3');
    await run.time.pass(0);
    expect([restarts(run).length, run.exitCode]).toEqual([5, 1]);
    expect(run.err).toBe(
      '\n1 error occurred while restarting job:\n' +
        '* Error restarting allocation "a3": Failed to restart allocation: Task not running\n',
    );
  });

  it('JR-503: but not over one that will happen again', async () => {
    const run = new RestartedJob(['-yes', 'web'], 3);
    run.server.on = fails('restart a3', 'Unexpected response code: 403 (Permission denied)');
    await run.time.pass(0);
    expect([restarts(run).length, run.exitCode]).toEqual([1, 1]);
    expect(run.out).toContain('Stopping job restart due to unrecoverable error\n');
  });

  it('JR-510: an error does not stop the others of its batch; JR-407, JR-E09: nothing is asked after the last', async () => {
    const run = new RestartedJob(['-batch-size=100%', 'web'], 3);
    run.server.on = fails('restart a3');
    await run.time.pass(0);
    expect([restarts(run).length, run.exitCode, run.questions]).toEqual([3, 1, []]);
  });

  it('JR-501, JR-504, JR-507, JR-509, JR-904: errors are shown as a warning, then asked about; no ends it', async () => {
    const run = new RestartedJob(['web'], 2);
    run.server.on = fails('restart a2', 'first\n    second');
    await run.time.pass(0);
    const indent = ' '.repeat(31);
    expect(run.err).toBe(
      `==> <ts>: 1 error occurred while restarting job:\n${indent}* Error restarting allocation "a2": ` +
        `Failed to restart allocation: first\n${indent}    second\n`,
    );
    expect(run.questions).toEqual(['==> <ts>: Ignore the errors above and proceed with the next batch? [y/N] ']);
    await run.type('');
    expect(run.out).toContain('==> <ts>: Job restart canceled\n');
    expect(run.out).not.toContain('finished');
    expect([restarts(run).length, run.exitCode]).toEqual([1, 1]);
    expect(
      run.err.endsWith(
        '\n\n1 error occurred while restarting job:\n* Error restarting allocation "a2": Failed to restart allocation: first\n    second\n',
      ),
    ).toBe(true);
  });

  it.each(['n', undefined])('JR-507, JR-508: "%s" to a question without errors cancels with 0', async (answer) => {
    const run = new RestartedJob(['-batch-wait=ask', 'web'], 2);
    await run.type(answer);
    expect([run.exitCode, restarts(run).length, run.err]).toEqual([0, 1, '']);
    expect(run.out.trimEnd().endsWith('Job restart canceled')).toBe(true);
  });

  it('JR-505, JR-506, JR-E18, JR-E19: an answer that is none, then a pause, then no question but for errors', async () => {
    const run = new RestartedJob(['-batch-wait=ask', 'web'], 4);
    run.server.on = fails('restart a2');
    await run.type('x');
    expect(run.out).toContain(`${' '.repeat(31)}Invalid answer "x"\n`);
    await run.type('5s');
    expect(run.out).toContain('==> <ts>: Proceeding restarts with new wait time of 5s\n');
    await run.time.pass(5_000);
    expect(restarts(run)).toHaveLength(2);
    await run.time.pass(5_000);
    expect(run.questions.at(-1)).toBe('==> <ts>: Ignore the errors above and proceed with the next batch? [y/N] ');
    await run.type('y');
    await run.time.pass(5_000);
    expect([restarts(run).length, run.exitCode, run.questions.length]).toEqual([4, 1, 3]);
  });
});

describe('Ctrl-C', () => {
  const QUESTION = '                               Are you sure you want to stop the restart process? [y/N] ';

  it('JR-801, JR-E21: what is under way goes on, nothing new begins until the answer is no', async () => {
    const run = new RestartedJob(['web'], 2);
    let finish = () => {};
    run.server.on = (call) => (call === 'restart a2' ? new Promise<void>((resolve) => (finish = resolve)) : undefined);
    await run.time.pass(0);
    await run.ctrlC();
    expect(run.out).toContain('==> <ts>: Restart interrupted, no more allocations will be restarted.\n');
    expect(run.questions).toEqual([QUESTION]);
    finish();
    await run.time.pass(1_000);
    expect(restarts(run)).toEqual(['restart a2']);
    await run.type('');
    expect([restarts(run).length, run.exitCode]).toEqual([2, 0]);
  });

  it('JR-802, JR-804: yes ends it at once with 0, also with -yes', async () => {
    const run = new RestartedJob(['-yes', 'web'], 2);
    run.server.on = (call) => (call === 'restart a2' ? new Promise<void>(() => undefined) : undefined);
    await run.time.pass(0);
    await run.ctrlC();
    await run.type('YES');
    expect(run.exitCode).toBe(0);
    expect(run.out.endsWith('\nCanceling job restart process\n')).toBe(true);
    expect(run.interrupts.signal.aborted).toBe(true);
  });

  it('JR-802, JR-508: a second Ctrl-C is a yes', async () => {
    const run = new RestartedJob(['web'], 2);
    run.server.on = () => new Promise<void>(() => undefined);
    await run.time.pass(0);
    await run.ctrlC();
    await run.ctrlC();
    expect([run.exitCode, run.questions.length]).toEqual([0, 1]);
    expect(run.out).toContain('Canceling job restart process');
  });

  it('JR-803: during a pause it is asked at once, and the pause is not shortened', async () => {
    const run = new RestartedJob(['-batch-wait=10s', 'web'], 2);
    await run.time.pass(4_000);
    await run.ctrlC();
    expect(run.questions).toHaveLength(1);
    await run.type('n');
    await run.time.pass(5_999);
    expect(restarts(run)).toHaveLength(1);
    await run.time.pass(1);
    expect([restarts(run).length, run.exitCode]).toEqual([2, 0]);
  });

  it('JR-806: one question at a time; lines wait for its answer', async () => {
    const run = new RestartedJob(['-batch-wait=ask', '-batch-size=2', 'web'], 3);
    let finish = () => {};
    run.server.on = (call) => (call === 'restart a2' ? new Promise<void>((resolve) => (finish = resolve)) : undefined);
    await run.time.pass(0);
    await run.ctrlC();
    finish();
    await run.time.pass(0);
    expect(run.questions).toEqual([QUESTION]);
    await run.type('no');
    expect(run.questions).toEqual([QUESTION, '==> <ts>: Proceed with the next batch? [Y/n/<wait duration>] ']);
    await run.ctrlC();
    expect([run.exitCode, run.questions.length]).toEqual([0, 2]);
    expect(run.out).toContain('Job restart canceled');
  });
});
