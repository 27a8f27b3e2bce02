import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KubernetesApiServer, type Said } from '../support/kubernetes/api-server.js';
import { type Manifest, podTemplateOf } from '../support/kubernetes/manifests.js';
import { productionWithAll } from '../support/kubernetes/overlay-copy.js';
import { secretsOf } from '../../scripts/kubernetes-secrets.mjs';
import { objectsOf, render } from '../../scripts/kustomize.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const CHART = path.join(root, 'charts/waybill');
const STRICT = ['apply', '--server-side', '--validate=strict', '-f', '-'];
const TRIED = [...STRICT, '--dry-run=server'];

let cluster: KubernetesApiServer;
beforeAll(async () => {
  cluster = await KubernetesApiServer.start();
}, 180_000);
afterAll(() => cluster?.stop());

const overlay = (name: string): Manifest[] => render(path.join(root, 'k8s/overlays', name));
const namespacesOf = (name: string): Manifest[] =>
  objectsOf(readFileSync(path.join(root, `k8s/namespaces/${name}.yaml`), 'utf8'));

/** What the server warns about or refuses. */
const complaints = ({ err }: Said): string[] => err.split('\n').filter((line) => line !== '' && !UNRELATED.test(line));
/**
 * What is not about the manifests: kubectl's own version, and a warning about the affinity that every Service has by
 * default, which this version of the server gives for each headless Service.
 */
const UNRELATED =
  /version difference between client|Warning: spec\.SessionAffinity is ignored for headless services"?$/;

/** The pods that the controllers of the objects would make. */
const podsOf = (manifests: readonly Manifest[]) =>
  manifests.flatMap((object) => {
    const template = podTemplateOf(object);
    if (template === undefined || object.kind === 'Pod') return [];
    const { name, namespace = '' } = object.metadata;
    const claims = object.spec.volumeClaimTemplates ?? [];
    const claimed = claims.map(() => ({ name: 'data', persistentVolumeClaim: { claimName: `data-${name}-0` } }));
    const spec = { ...template.spec, volumes: [...(template.spec.volumes ?? []), ...claimed] };
    return [{ apiVersion: 'v1', kind: 'Pod', metadata: { ...template.metadata, name, namespace }, spec }];
  });

/** The definitions of custom kinds that components and examples use, as their projects publish them. */
const definitions = (): Manifest[] =>
  (process.env['DEFINITIONS'] ?? '').split(':').flatMap((file) => {
    const objects: Manifest[] = objectsOf(readFileSync(file, 'utf8'));
    // The labels of some are those of a chart's template.
    return objects.map((object) => ({
      ...object,
      metadata: { name: object.metadata.name, annotations: approved(object) },
    }));
  });
/** Names under *.k8s.io need the approval that is in their annotation. */
const approved = ({ metadata }: Manifest): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([key]) => key.startsWith('api-approved')));

describe('the overlays, on a real API server', () => {
  beforeAll(() => {
    for (const name of ['dev', 'production']) expect(cluster.kubectl(STRICT, namespacesOf(name)).status).toBe(0);
  });

  it('are checked so strictly that a misspelt key is refused', () => {
    const [service] = overlay('production').filter(({ kind }) => kind === 'Service');
    const wrong = { ...service, spec: { ...service?.spec, selectr: {} } };
    expect(cluster.kubectl(TRIED, [wrong])).toMatchObject({ status: 1, err: expect.stringContaining('selectr') });
  });

  it('name four kinds that a cluster without Prometheus operator and cert-manager does not know, and no others', () => {
    const { err } = cluster.kubectl(TRIED, productionWithAll());
    const kinds = [...err.matchAll(/no matches for kind "(\w+)"/g)].map(([, kind]) => kind);
    expect(new Set(kinds)).toEqual(new Set(['PodMonitor', 'PrometheusRule', 'Certificate', 'Issuer']));
    expect(cluster.kubectl(TRIED, overlay('production')).err).not.toContain('no matches for kind');
  });

  it.each(['dev', 'production'])('%s is accepted by a trial and then for good, without a complaint', (name) => {
    const manifests = overlay(name);
    for (const args of [TRIED, STRICT]) {
      const said = cluster.kubectl(args, manifests);
      expect([said.status, complaints(said)]).toEqual([0, []]);
      expect(said.out.trim().split('\n')).toHaveLength(manifests.length);
    }
  });

  it('production is accepted with all its components', async () => {
    expect(cluster.kubectl([...STRICT, '--force-conflicts'], definitions())).toMatchObject({ status: 0 });
    const names = definitions().map(({ metadata }) => `crd/${metadata.name}`);
    expect(cluster.kubectl(['wait', '--for=condition=Established', '--timeout=60s', ...names]).status).toBe(0);
    const said = cluster.kubectl(TRIED, productionWithAll());
    expect([said.status, complaints(said)]).toEqual([0, []]);
  });

  it.each(['ingress', 'gateway', 'argocd'])('are accompanied by the example %s, which is accepted', (name) => {
    const argocd = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'argocd' } };
    expect(cluster.kubectl(STRICT, [argocd])).toMatchObject({ status: 0 });
    const example: Manifest[] = objectsOf(readFileSync(path.join(root, `examples/kubernetes/${name}.yaml`), 'utf8'));
    expect(example.length).toBeGreaterThan(0);
    const said = cluster.kubectl(TRIED, example);
    expect([said.status, complaints(said)]).toEqual([0, []]);
  });

  it.each(['dev', 'production'])('%s has pods that the security standards of its namespaces admit', (name) => {
    const pods = podsOf(overlay(name));
    expect(pods.length).toBeGreaterThan(8);
    const said = cluster.kubectl(['create', '--dry-run=server', '-f', '-'], pods);
    expect([said.status, complaints(said)]).toEqual([0, []]);
  });

  it('needs a namespace that admits privileged pods for the agents, and for nothing else', () => {
    const pods = podsOf(overlay('production'));
    for (const level of ['baseline', 'restricted']) {
      const label = `pod-security.kubernetes.io/enforce=${level}`;
      for (const namespace of ['waybill', 'waybill-agents'])
        expect(cluster.kubectl(['label', '--overwrite', 'namespace', namespace, label]).status).toBe(0);
      const refused = pods.filter(
        (pod) => cluster.kubectl(['create', '--dry-run=server', '-f', '-'], [pod]).status !== 0,
      );
      expect([level, refused.map(({ metadata }) => metadata.name)]).toEqual([level, ['waybill-agent']]);
    }
    const restored = cluster.kubectl([...STRICT, '--force-conflicts'], namespacesOf('production'));
    expect(restored).toMatchObject({ status: 0 });
  });

  it('AU-266: let the nodes services ask about tokens, and no pod do anything else', () => {
    const may = (account: string, verb: string, what: string): string =>
      cluster.kubectl(['auth', 'can-i', verb, what, '--as', `system:serviceaccount:${account}`]).out.trim();
    expect(may('waybill:waybill-nodes', 'create', 'tokenreviews.authentication.k8s.io')).toBe('yes');
    for (const [verb, what] of [
      ['get', 'secrets'],
      ['list', 'pods'],
      ['create', 'subjectaccessreviews.authorization.k8s.io'],
    ] as const)
      expect([what, may('waybill:waybill-nodes', verb, what)]).toEqual([what, 'no']);
    for (const account of ['waybill:waybill-api', 'waybill-agents:waybill-agent', 'waybill:default'])
      expect(may(account, 'create', 'tokenreviews.authentication.k8s.io')).toBe('no');
  });

  it('get their Secrets from the script, which does not replace those that are there', () => {
    const secrets = secretsOf('waybill', undefined);
    const create = ['create', '--validate=strict', '-f', '-'];
    expect(cluster.kubectl(create, secrets)).toMatchObject({ status: 0, err: '' });
    const again = cluster.kubectl(create, secretsOf('waybill', undefined));
    expect([again.status, again.err.match(/AlreadyExists/g)?.length]).toEqual([1, secrets.length]);
  });

  it('leave namespaces and the Secrets of their owner when they are deleted', () => {
    expect(cluster.kubectl(['delete', '--wait=false', '-f', '-'], overlay('production')).status).toBe(0);
    const left = cluster.kubectl(['get', 'secret,namespace', '-n', 'waybill', '-o', 'name']).out.split('\n');
    expect(left).toEqual(
      expect.arrayContaining(['secret/waybill-acl', 'namespace/waybill', 'namespace/waybill-agents']),
    );
  });
});

describe('the chart, on a real API server', () => {
  const EVERYTHING = ['--set', 'tls.enabled=true,monitoring.enabled=true,agents.hostNetwork=true'];

  /** Makes the two namespaces of a release, with the service account that a controller would make in each. */
  function makeNamespaces(name: string): void {
    const objects = namespacesOf('production').flatMap((namespace) => {
      const own = namespace.metadata.name.replace('waybill', name);
      const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: own } };
      return [{ ...namespace, metadata: { ...namespace.metadata, name: own } }, account];
    });
    expect(cluster.kubectl(STRICT, objects)).toMatchObject({ status: 0 });
  }

  it('installs beside the overlays, upgrades, and uninstalls', () => {
    makeNamespaces('green');
    const release = ['waybill', CHART, '-n', 'green'];
    for (const args of [
      ['install', ...release],
      ['upgrade', ...release, ...EVERYTHING],
    ]) {
      const said = cluster.helm(args);
      expect([args[0], said.status, complaints(said)]).toEqual([args[0], 0, []]);
    }
    const binding = ['clusterrolebinding', 'waybill-token-reviews.green'];
    const path = 'jsonpath={.subjects[0].namespace}/{.subjects[0].name}';
    expect(cluster.kubectl(['get', ...binding, '-o', path]).out).toBe('green/waybill-nodes');
    expect(cluster.helm(['uninstall', 'waybill', '-n', 'green']).status).toBe(0);
    const left = cluster.kubectl(['get', 'deployment,statefulset,service,networkpolicy', '-n', 'green', '-o', 'name']);
    expect(left.out).toBe('');
    expect(cluster.kubectl(['get', ...binding]).err).toContain('not found');
  });

  it.each([
    ['the default values', 'blue', []],
    ['all components', 'red', EVERYTHING],
    ['the values of dev', 'grey', ['-f', path.join(CHART, 'values-dev.yaml')]],
  ])('is accepted strictly with %s, its pods too', (_what, namespace, args) => {
    makeNamespaces(namespace);
    const release = ['waybill', CHART, '-n', namespace, '--kube-version', '1.34.1'];
    const rendered = cluster.helm(['template', ...release, ...args]);
    expect([rendered.status, rendered.err]).toEqual([0, '']);
    const manifests: Manifest[] = objectsOf(rendered.out);
    expect(manifests.length).toBeGreaterThan(40);
    const said = cluster.kubectl(STRICT, manifests);
    expect([said.status, complaints(said)]).toEqual([0, []]);
    const pods = cluster.kubectl(['create', '--dry-run=server', '-f', '-'], podsOf(manifests));
    expect([pods.status, complaints(pods)]).toEqual([0, []]);
  });
});
