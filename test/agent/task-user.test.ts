import { chmodSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NodesAndAgent, shellTask } from '../support/nodes-and-agent.js';

/** What the manifests for Kubernetes set (k8s/agents/agent.env). */
const UNPRIVILEGED = {
  WAYBILL_RAW_EXEC_USER: 'nobody',
  WAYBILL_RAW_EXEC_DENIED_UIDS: '0',
  WAYBILL_RAW_EXEC_DENIED_GIDS: '0',
  WAYBILL_MOCK_DRIVER_ENABLED: 'false',
};

/** Allocations belong to tasks. A run belongs to its user: it has the process and its start, and nothing secret. */
const OWN_PLACES = ['allocs/', 'runs/'];

let cluster: NodesAndAgent;

beforeAll(async () => {
  cluster = await NodesAndAgent.start();
});
afterAll(async () => {
  await cluster?.stop();
});

it('AG-274: a task of a machine with a default user reads no key and no record of its agent (needs root)', async (context) => {
  if (process.getuid?.() !== 0) return context.skip('only root can start tasks as another user');
  chmodSync(cluster.dir, 0o711);
  const agent = await cluster.startAgent('alpha', UNPRIVILEGED);
  const dir = cluster.agentDir('alpha');
  expect(statSync(dir).mode & 0o777).toBe(0o711);
  chmodSync(dir, 0o755); // as Kubernetes makes it
  const node = await cluster.node('alpha');
  expect(node.Attributes['driver.raw_exec']).toBe('1');
  expect(Object.keys(node.Drivers)).not.toContain('mock_driver');

  const first = await cluster.place(node.ID, [shellTask('echo hidden > $NOMAD_SECRETS_DIR/key; exec sleep 600')]);
  await cluster.inStatus(first.ID, 'running');
  const line = [
    'id -u -r > $NOMAD_ALLOC_DIR/data/user',
    `find ${dir} -type f -readable > $NOMAD_ALLOC_DIR/data/files 2> /dev/null`,
    `find ${dir} -writable > $NOMAD_ALLOC_DIR/data/writable 2> /dev/null`,
    `cat /proc/${agent.pid}/environ > $NOMAD_ALLOC_DIR/data/environ 2> $NOMAD_ALLOC_DIR/data/refusal`,
    'true',
  ].join('; ');
  const alloc = await cluster.place(node.ID, [shellTask(line)], { type: 'batch' });
  await cluster.inStatus(alloc.ID, 'complete');
  const seen = (name: string): string => readFileSync(path.join(dir, 'allocs', alloc.ID, 'alloc/data', name), 'utf8');
  const outside = (name: string): string[] =>
    seen(name)
      .split('\n')
      .filter((file) => file !== '' && !OWN_PLACES.some((place) => file.startsWith(`${dir}/${place}`)));
  expect(seen('user')).toBe('65534\n');
  expect(readFileSync(path.join(dir, 'secret-id'), 'utf8')).not.toBe('');
  expect(outside('files')).toEqual([]);
  expect(outside('writable')).toEqual([]);
  expect(seen('environ')).toBe('');
  expect(seen('refusal')).toContain('Permission denied');
});
