import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect } from 'vitest';
import { shellJob } from '../support/api-client.js';
import { processesOf, UP_TIMEOUT_MS } from '../support/launcher.js';
import { itAtSite as it, runningAllocs } from '../support/launcher-site.js';
import { eventually } from '../support/wait.js';

const LONG_MS = 240_000;

const SERVICES = ['projector', 'broker', 'scheduler', 'nodes', 'deployments', 'volumes', 'api', 'agent'];
describe.concurrent('npm start -- --processes', () => {
  it(
    'AG-155: a task has its kill_timeout when everything ends, however long',
    { timeout: LONG_MS },
    async ({ site }) => {
      const launcher = await site.launch({ args: ['--processes', '--empty'] }).up();
      const end = path.join(site.parent, 'ended in order');
      const line = `trap 'sleep 22; touch "${end}"; exit 0' INT TERM; while :; do sleep 1; done`;
      await launcher.api.register(shellJob('slow', line, { killTimeoutNs: 28e9 }));
      await runningAllocs(launcher.api, 'slow');
      expect(await launcher.interrupt()).toEqual({ code: 0, signal: null });
      expect(existsSync(end)).toBe(true);
      expect(processesOf(site.parent)).toEqual([]);
    },
  );

  it('every service killed once comes back, and jobs run afterwards', { timeout: LONG_MS }, async ({ site }) => {
    const launcher = await site.launch({ args: ['--processes'] }).up();
    const mainOf = (service: string): string => `apps/${service}/dist/main.js`;
    const pidOf = (service: string): number | undefined =>
      processesOf(site.dataDir).find(
        ({ commandLine }) => commandLine.startsWith(process.execPath) && commandLine.includes(mainOf(service)),
      )?.pid;
    for (const service of SERVICES) {
      const pid = await eventually(`${service} runs`, () => pidOf(service));
      expect(launcher.stdout).toContain(`pid ${pid}`);
      process.kill(pid, 'SIGKILL');
      await eventually(`${service} is back`, () => {
        const now = pidOf(service);
        return now !== undefined && now !== pid;
      });
    }
    await eventually(
      'the node is ready again',
      async () => (await launcher.api.get<{ Status: string }[]>('/v1/nodes')).some(({ Status }) => Status === 'ready'),
      UP_TIMEOUT_MS,
    );
    await eventually(
      'a job is accepted',
      () => launcher.api.register(shellJob('after', 'exec sleep 600')),
      UP_TIMEOUT_MS,
    );
    await runningAllocs(launcher.api, 'after');
    await runningAllocs(launcher.api, 'hello');
    for (const service of SERVICES) {
      await eventually(`${service} is said to be back`, () => launcher.stdout.includes(`${service} is back`));
      expect(launcher.stdout.match(new RegExp(`${service} failed: .*`, 'g'))).toEqual([
        expect.stringMatching(/failed: killed by signal 9 \(log: .*\); starting it again/),
      ]);
    }
    expect(await launcher.interrupt()).toEqual({ code: 0, signal: null });
    expect(processesOf(site.parent)).toEqual([]);
  });

  it('stops cleanly when interrupted while the services start', { timeout: LONG_MS }, async ({ site }) => {
    const launcher = await site.launch({ args: ['--processes'] }).says(/wait +services +starting/);
    expect(await launcher.interrupt()).toEqual({ code: 0, signal: null });
    expect(launcher.stderr).toBe('');
    expect(processesOf(site.parent)).toEqual([]);
  });

  it('leaves nothing but tasks behind when it is killed', { timeout: LONG_MS }, async ({ site }) => {
    const launcher = await site.launch({ args: ['--processes'] }).up();
    const tasks = site.tasks();
    expect(tasks).not.toEqual([]);
    launcher.kill('SIGKILL');
    await launcher.ended;
    await site.onlyTasksRun();
    expect(site.tasks()).toEqual(tasks);
  });
});
