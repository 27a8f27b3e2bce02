import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fixtures } from '@waybill/state';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { aTask, FOREVER, setup } from '../fixtures/running-allocation.js';
import { aTemplate } from '../fixtures/task-template.js';
import { taskHooks } from './task-hooks.service.js';
import type { VolumesHookDependencies } from './hooks/volumes.hook.js';

let root: string;
beforeAll(() => import('./templates/template-rendering.js')); // loading the module takes long, and would otherwise happen with the first template
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'waybill-hooks-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const ARTIFACT = {
  GetterOptions: null,
  GetterHeaders: null,
  GetterMode: 'any',
  GetterInsecure: false,
  Chown: false,
};
const NO_SOURCE = { watch: () => {} };

it('AG-102: the payload is there first, then volumes, artifacts, and templates, each for those after it', async () => {
  const at = (name: string): string => path.join(root, 'web', name);
  for (const name of ['local', 'private', 'tmp']) mkdirSync(at(name), { recursive: true });
  const [localDir, privateDir] = [at('local'), at('private')];
  const paths = { allocDir: '', logsDir: '', secretsDir: '', taskDir: path.join(root, 'web'), localDir, privateDir };
  const seen: string[] = [];
  const volumes: VolumesHookDependencies = {
    node: () => {
      seen.push(readFileSync(at('local/payload'), 'utf8'));
      writeFileSync(at('local/volume'), 'from the volume');
      return { HostVolumes: {} };
    },
    mountSupport: () => 'none',
    mountOf: () => undefined,
  };
  const task = aTask('web', FOREVER, {
    DispatchPayload: { File: 'payload' },
    Artifacts: [{ ...ARTIFACT, GetterSource: at('local/volume'), RelativeDest: 'local/artifact' }],
    Templates: [aTemplate({ SourcePath: 'local/artifact/volume' })],
  });
  const job = {
    Dispatched: true,
    Payload: Buffer.from('from the payload').toString('base64'),
    TaskGroups: [fixtures.aGroup({ Tasks: [task] })],
  };
  const { runner, events, time } = setup([task], {
    alloc: { Job: fixtures.aJob(job) },
    paths,
    hooks: (clock) =>
      taskHooks({
        devices: { reserve: () => Promise.reject(new Error('no task has devices')) },
        volumes,
        artifacts: { machineFiles: true },
        templates: {
          clock,
          timers: clock,
          random: () => 0,
          servers: () => ({ service: NO_SOURCE, services: NO_SOURCE, variable: NO_SOURCE, variables: NO_SOURCE }),
        },
      }),
  });
  runner.runAllocation();
  await expect
    .poll(async () => {
      await time.pass(0);
      return events('web');
    })
    .toEqual(['Received', 'Task Setup', 'Downloading Artifacts', 'Started']);
  expect([seen, readFileSync(at('local/conf'), 'utf8')]).toEqual([['from the payload'], 'from the volume']);
});
