import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { FakeTime } from '@waybill/model';
import { silentLogger } from '@waybill/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StartCancelledError, type TaskConfig } from '../driver.js';
import { TASK_LABEL } from './container-options.js';
import { DockerDriver } from './docker-driver.js';

describe('a container whose engine is going down', () => {
  let dir: string;
  let server: Server;
  /** The statuses of the next answers; after them the engine answers well. */
  let failing: Record<string, number[]>;

  beforeEach(async () => {
    dir = mkdtempSync(path.join(tmpdir(), 'waybill-engine-'));
    failing = {};
    server = createServer(({ url = '' }, response) => {
      const what = url.includes('/wait') ? 'wait' : 'inspect';
      response.setHeader('content-type', 'application/json');
      const status = failing[what]?.shift();
      if (status !== undefined) return void response.writeHead(status).end('{"message":"going down"}');
      const State = { Status: 'exited', ExitCode: 3, OOMKilled: false, Error: '' };
      const found = {
        Id: 'c',
        Image: 'i',
        State,
        Config: { Labels: { [TASK_LABEL]: 'a/web/1' } },
        NetworkSettings: { Networks: { bridge: { IPAddress: '172.17.0.2' } } },
      };
      response.end(JSON.stringify(what === 'wait' ? { StatusCode: 3 } : found));
    });
    await new Promise<void>((resolve) => server.listen(path.join(dir, 'engine.sock'), resolve));
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const driver = (): DockerDriver => {
    const time = new FakeTime();
    return new DockerDriver({
      endpoint: `unix://${dir}/engine.sock`,
      clock: time,
      monotonic: time,
      timers: time,
      logger: silentLogger,
      outputs: { followContainer: async () => {}, awaitCopied: async () => {} },
      policy: { volumes: false, privileged: false, allowedCapabilities: [] },
      imageGc: false,
      infraImage: '',
      infraImagePullTimeoutMs: 1_000,
      agent: 'test',
      mhzPerCore: 1_000,
    });
  };
  const task: TaskConfig = {
    taskId: 'a/web/1',
    allocId: 'a',
    task: 'web',
    user: '',
    env: {},
    paths: { allocDir: '', logsDir: '', taskDir: '', localDir: '', secretsDir: '', privateDir: '' },
    config: { image: 'i', ports: ['http'] },
    ports: [{ label: 'http', hostIp: '10.0.0.1', hostPort: 23_456, to: 80 }],
    logs: { MaxFiles: 1, MaxFileSizeMB: 1, Disabled: false },
  };
  const handle = { driver: 'docker', taskId: 'a/web/1', startedAtMs: 0, state: { name: 'web-a' } };

  it('AG-143, AG-250: another agent knows the ports inside of a container; an older handle has none', async () => {
    const made = driver().prepare(task);
    for (const [given, portMap] of [
      [structuredClone(made), { http: 80 }],
      [handle, {}],
    ] as const) {
      const docker = driver();
      expect(await docker.recover(given)).toBe(true);
      expect(docker.network(given.taskId)).toEqual({ ip: '172.17.0.2', portMap, autoAdvertise: false });
    }
  });

  it('AG-410: a start that waits for its image is cancelled when the task is not wanted any more', async () => {
    failing = { inspect: [404] };
    const started = driver().start(task, handle, () => {}, AbortSignal.abort());
    await expect(started).rejects.toThrow(StartCancelledError);
  });

  it('AG-107, AG-156: what it says of its own trouble is not the end of the task', async () => {
    failing = { inspect: [503], wait: [500] };
    const docker = driver();
    expect(await docker.recover(handle)).toBe(true);
    expect(await docker.wait(handle.taskId)).toEqual({ ExitCode: 3, Signal: 0, OOMKilled: false, Err: '' });
    expect(failing).toEqual({ inspect: [], wait: [] });
  });
});
