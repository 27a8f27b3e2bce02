import { FakeTime, settle } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { type ExitResult, type TaskConfig } from './driver.js';
import { MockDriver } from './mock-driver.js';

function setup({ random = 0.5 } = {}) {
  const time = new FakeTime();
  const output: string[] = [];
  const openOutput = (config: TaskConfig, type: string) => ({
    write: async (text: string) => void output.push(`${config.task} ${type} ${text}`),
    close: async () => {},
  });
  const driver = new MockDriver({ clock: time, timers: time, random: () => random, openOutput });
  const config = (given: Record<string, unknown>, taskId = 't'): TaskConfig => ({
    taskId,
    allocId: 'a',
    task: 'web',
    user: '',
    config: given,
    env: {},
    paths: { allocDir: '', logsDir: '', taskDir: '', localDir: '', secretsDir: '', privateDir: '' },
    logs: { MaxFiles: 1, MaxFileSizeMB: 1, Disabled: false },
  });
  /** Starts a task; `exit` is undefined until it has ended. */
  const start = async (given: Record<string, unknown>) => {
    const c = config(given);
    const handle = driver.prepare(c);
    await driver.start(c, handle);
    const task: { exit?: ExitResult; at?: number } = {};
    void driver.wait('t').then((exit) => Object.assign(task, { exit, at: time.nowMs() }));
    await settle();
    return { task, handle };
  };
  return { time, driver, config, start, output };
}

describe('mock_driver', () => {
  it('AG-260: is healthy', async () => {
    expect(await setup().driver.fingerprint()).toMatchObject({
      health: 'healthy',
      attributes: { 'driver.mock_driver': '1' },
    });
  });

  it('AG-261: exits after run_for with what was configured', async () => {
    const { time, start } = setup();
    const { task } = await start({ run_for: '1m30s', exit_code: 3, exit_signal: 9, exit_err_msg: 'boom' });
    await time.pass(89_999);
    expect(task.exit).toBeUndefined();
    await time.pass(1);
    expect(task.exit).toEqual({ ExitCode: 3, Signal: 9, OOMKilled: false, Err: 'boom' });
  });

  it('AG-261, AG-262: a stop gives the same result, after kill_after, whatever signal and timeout', async () => {
    const { time, driver, start } = setup();
    const { task } = await start({ run_for: '1h', exit_code: 4, kill_after: '10s' });
    void driver.stop('t');
    await time.pass(9_999);
    expect(task.exit).toBeUndefined();
    await time.pass(1);
    expect(task.exit).toMatchObject({ ExitCode: 4 });
  });

  it('AG-261: the plugin may go away before', async () => {
    const { time, start } = setup();
    const { task } = await start({ run_for: '1h', plugin_exit_after: '2s', exit_code: 4 });
    await time.pass(2_000);
    expect(task.exit).toMatchObject({ ExitCode: 0, Err: 'plugin shut down' });
  });

  it('AG-261: output that is being repeated is finished before the end, and broken off by a stop', async () => {
    const output = { stdout_string: 'x', stdout_repeat: 3, stdout_repeat_duration: '1s' };
    const ends = setup();
    const { task } = await ends.start({ run_for: '1s', ...output });
    await ends.time.pass(1_000);
    expect(task.exit).toBeUndefined();
    await ends.time.pass(2_000);
    expect(ends.output).toEqual(Array(4).fill('web stdout x'));
    expect(task.exit).toBeDefined();

    const stopped = setup();
    const second = await stopped.start({ run_for: '1h', ...output });
    void stopped.driver.stop('t');
    await stopped.time.pass(0);
    expect(second.task.exit).toBeDefined();
    expect(stopped.output).toHaveLength(1);
  });

  it('AG-263: after a restart of the agent the rest of run_for is counted from the first start', async () => {
    const { time, start } = setup();
    const { handle } = await start({ run_for: '60s' });
    time.freeze(45_000);
    const next = new MockDriver({
      clock: time,
      timers: time,
      random: () => 0.5,
      openOutput: () => ({ write: async () => {}, close: async () => {} }),
    });
    expect(await next.recover(JSON.parse(JSON.stringify(handle)))).toBe(true);
    let ended = false;
    void next.wait('t').then(() => (ended = true));
    await time.pass(14_999);
    expect(ended).toBe(false);
    await time.pass(1);
    expect(ended).toBe(true);
  });

  it('AG-255: start errors, recoverable or not; a start that blocks; malformed values', async () => {
    const { time, driver, config } = setup();
    const attempt = (given: Record<string, unknown>) => driver.start(config(given), driver.prepare(config(given)));
    await expect(attempt({ start_error: 'no' })).rejects.toMatchObject({ message: 'no', recoverable: false });
    await expect(attempt({ start_error: 'no', start_error_recoverable: true })).rejects.toMatchObject({
      recoverable: true,
    });
    await expect(attempt({ run_for: 'soon' })).rejects.toThrow('run_for soon not a valid duration: ');
    await expect(attempt({ driver_port_map: 'x' })).rejects.toThrow('malformed port map: "x"');
    let started = false;
    void attempt({ start_block_for: '5s', run_for: '1h' }).then(() => (started = true));
    await time.pass(4_999);
    expect(started).toBe(false);
    await time.pass(1);
    expect(started).toBe(true);
  });

  it('AG-251, AG-253, AG-254: wait many times, destroy only when it may, recover what is there', async () => {
    const { time, driver, start } = setup();
    const { handle } = await start({ run_for: '1s' });
    expect(await driver.recover(handle)).toBe(true);
    await expect(driver.destroy(handle, false)).rejects.toThrow('cannot destroy running task');
    await time.pass(1_000);
    expect(await driver.wait('t')).toEqual(await driver.wait('t'));
    await driver.destroy(handle, false);
    await expect(driver.wait('t')).rejects.toThrow('task not found');
    await expect(driver.stop('t')).rejects.toThrow('task not found');
  });

  it('AG-265: pretends a random use of memory', async () => {
    const rss = async (random: number) => {
      const { driver, start } = setup({ random });
      await start({ run_for: '10s' });
      return (await driver.stats('t')).ResourceUsage.MemoryStats.RSS;
    };
    expect(await rss(0.5)).toBeGreaterThan(0);
    expect(await rss(0.25)).toBeLessThan(await rss(0.75));
  });

  it('signals succeed without effect, or fail as configured', async () => {
    const { driver, start } = setup();
    await start({ run_for: '1h', signal_error: 'deaf' });
    await expect(driver.signal('t')).rejects.toThrow('deaf');
  });
});
