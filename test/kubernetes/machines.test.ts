import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TokenReviewError, TokenReviews } from '@waybill/nodes';
import { systemClock } from '@waybill/service';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/wait.js';
import { KubernetesApiServer } from '../support/kubernetes/api-server.js';
import { render } from '../../scripts/kustomize.mjs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const AGENTS = 'waybill-agents';

let cluster: KubernetesApiServer;
let dir: string;
beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-reviews-'));
  cluster = await KubernetesApiServer.start();
  apply(['-f', path.join(root, 'k8s/namespaces/production.yaml')]);
  apply(['-f', '-'], render(path.join(root, 'k8s/overlays/production')));
  startPod('agent-1', 'worker-1');
  for (const account of ['waybill-nodes', 'waybill-api']) {
    mkdirSync(path.join(dir, account));
    writeFileSync(path.join(dir, account, 'ca.crt'), cluster.certificate);
    writeFileSync(path.join(dir, account, 'token'), tokenOf(account, ['-n', 'waybill']));
  }
}, 240_000);
afterAll(async () => {
  await cluster?.stop();
  rmSync(dir, { recursive: true, force: true });
});

function apply(args: string[], input?: object[]): void {
  const said = cluster.kubectl(['apply', '--server-side', ...args], input);
  if (said.status !== 0) throw new Error(said.err);
}

/** A pod of the agents, without a kubelet that would run it. */
function startPod(name: string, nodeName: string, serviceAccountName = 'waybill-agent'): void {
  apply(
    ['-f', '-'],
    [
      { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace: AGENTS },
        spec: {
          serviceAccountName,
          nodeName,
          automountServiceAccountToken: false,
          containers: [{ name: 'agent', image: 'waybill' }],
        },
      },
    ],
  );
}

function tokenOf(account: string, args: string[]): string {
  const said = cluster.kubectl(['create', 'token', account, ...args]);
  if (said.status !== 0) throw new Error(said.err);
  return said.out.trim();
}
const boundTo = (pod: string): string[] => ['-n', AGENTS, '--bound-object-kind', 'Pod', '--bound-object-name', pod];
const FOR_WAYBILL = ['--audience', 'waybill'];

/** Asks the server anew, as the service `account`. */
const review = (token: string, account = 'waybill-nodes') =>
  new TokenReviews({
    server: cluster.url,
    accountDir: path.join(dir, account),
    account: `system:serviceaccount:${AGENTS}:waybill-agent`,
    clock: systemClock,
  }).introductionOf(token);

describe('a TokenReview of a real API server', () => {
  it('AU-266: introduces the pod of an agent and names its Kubernetes node', async () => {
    const token = tokenOf('waybill-agent', [...boundTo('agent-1'), ...FOR_WAYBILL]);
    expect(await review(token)).toEqual({ pod: 'agent-1', machine: 'worker-1' });
  });

  it('AU-264: has a token that fits into the first message of a client of NATS', () => {
    const token = tokenOf('waybill-agent', [...boundTo('agent-1'), ...FOR_WAYBILL]);
    expect(token.length).toBeGreaterThan(500);
    expect(token.length).toBeLessThan(2_000);
  });

  it.each<[string, () => string]>([
    ['for the Kubernetes API', () => tokenOf('waybill-agent', boundTo('agent-1'))],
    ['for another audience', () => tokenOf('waybill-agent', [...boundTo('agent-1'), '--audience', 'vault'])],
    ['that is bound to no pod', () => tokenOf('waybill-agent', ['-n', AGENTS, ...FOR_WAYBILL])],
    ['of another service account', () => tokenOf('waybill-api', ['-n', 'waybill', ...FOR_WAYBILL])],
    ['with another signature', () => `${tokenOf('waybill-agent', [...boundTo('agent-1'), ...FOR_WAYBILL])}x`],
    ['that is made up', () => 'e30.e30.x'],
  ])('AU-266: introduces nobody by a token %s', async (_what, token) => {
    expect(await review(token())).toBeUndefined();
  });

  it('AU-266: introduces nobody once the pod is gone', async () => {
    startPod('agent-2', 'worker-2');
    const token = tokenOf('waybill-agent', [...boundTo('agent-2'), ...FOR_WAYBILL]);
    expect(await review(token)).toBeDefined();
    const gone = cluster.kubectl(['delete', 'pod', 'agent-2', '-n', AGENTS, '--force', '--grace-period=0']);
    expect(gone.status).toBe(0);
    // The API server remembers for ten seconds that it has verified a token.
    const isRefused = async (): Promise<boolean> => (await review(token)) === undefined;
    expect(await eventually('the token is refused', isRefused, 30_000)).toBe(true);
  });

  it('AU-266: is refused to every other service', async () => {
    const token = tokenOf('waybill-agent', [...boundTo('agent-1'), ...FOR_WAYBILL]);
    await expect(review(token, 'waybill-api')).rejects.toThrow(TokenReviewError);
    await expect(review(token, 'waybill-api')).rejects.toThrow('answered a TokenReview with 403');
  });
});
