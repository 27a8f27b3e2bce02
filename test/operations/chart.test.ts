import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { containersOf, type Manifest, podTemplateOf } from '../support/kubernetes/manifests.js';
import { mayConnect, podsOf } from '../support/kubernetes/network-rules.js';
import { productionWithAll } from '../support/kubernetes/overlay-copy.js';
import { restrictedFindings } from '../support/kubernetes/pod-security.js';
import { withoutHashes } from '../../scripts/chart.mjs';
import { findingsIn } from '../../scripts/kubernetes-schema.mjs';
import { kustomize, objectsOf, render } from '../../scripts/kustomize.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A program that renders charts: `helm` of the PATH, or the one that HELM names. */
const helm = [process.env['HELM'] ?? 'helm'].find((program) => spawnSync(program, ['version']).status === 0);

/** Every component of the overlay production that is turned off by default. */
const ALL = ['--set', 'tls.enabled=true,monitoring.enabled=true,agents.hostNetwork=true'];

function template(namespace: string, args: string[] = []) {
  const common = ['template', 'waybill', 'charts/waybill', '--namespace', namespace, '--kube-version', '1.30.0'];
  return spawnSync(helm ?? 'helm', [...common, ...args], { cwd: root, encoding: 'utf8' });
}

function rendered(namespace: string, args: string[] = []): Manifest[] {
  const run = template(namespace, args);
  expect(run.stderr).toBe('');
  return objectsOf(run.stdout);
}

const isHook = ({ metadata }: Manifest) => metadata.annotations?.['helm.sh/hook'] !== undefined;
const without = <T extends object>(object: T, key: string): T =>
  Object.fromEntries(Object.entries(object).filter(([name]) => name !== key)) as T;

/** By name, without what the two tools do differently on purpose: how pods are replaced when a ConfigMap changes. */
function comparable(manifests: Manifest[]): Record<string, unknown> {
  const objects: Manifest[] = withoutHashes(manifests).filter((object) => !isHook(object));
  return Object.fromEntries(
    objects.map((object) => {
      const { namespace = '', name } = object.metadata;
      const key = `${object.kind} ${namespace}/${name}`;
      const hosts = object.data?.['WAYBILL_HTTP_ALLOWED_HOSTS'];
      if (hosts !== undefined) {
        // The manifests name the namespaces of both overlays, a release its own.
        expect(hosts.split(',')).toContain(`waybill-api.${namespace}`);
        return [key, { ...object, data: without(object.data!, 'WAYBILL_HTTP_ALLOWED_HOSTS') }];
      }
      const template = podTemplateOf(object);
      if (template === undefined) return [key, object];
      const metadata = without(template.metadata, 'annotations');
      return [key, { ...object, spec: { ...object.spec, template: { ...template, metadata } } }];
    }),
  );
}

describe.skipIf(helm === undefined || kustomize === undefined)('the chart, rendered (needs helm and kubectl)', () => {
  const overlay = (name: string): Manifest[] => render(`${root}k8s/overlays/${name}`);
  let charted: Manifest[];
  beforeAll(() => {
    charted = rendered('waybill', ALL);
  });

  it('is the overlay production with the default values', () => {
    expect(comparable(rendered('waybill'))).toEqual(comparable(overlay('production')));
  });

  it('is the overlay dev with the values of that name', () => {
    const values = ['--values', 'charts/waybill/values-dev.yaml'];
    expect(comparable(rendered('waybill-dev', values))).toEqual(comparable(overlay('dev')));
  });

  it('is the overlay production with all components, when the values ask for them', () => {
    expect(comparable(charted)).toEqual(comparable(productionWithAll()));
  });

  it('has valid objects, its test included', () => {
    expect(charted.flatMap((object) => findingsIn(object))).toEqual([]);
  });

  it('runs its test in a namespace that enforces `restricted`, with the image of the services, and it reaches the API', () => {
    const tests = charted.filter((object) => object.kind === 'Pod');
    expect(tests.map(({ metadata }) => metadata.annotations?.['helm.sh/hook'])).toEqual(['test']);
    const { spec } = podTemplateOf(tests[0]!)!;
    expect(restrictedFindings(spec)).toEqual([]);
    const images = charted
      .filter(({ kind }) => kind === 'Deployment')
      .flatMap((one) => containersOf(one.spec.template.spec));
    expect(new Set(images.map(({ image }) => image))).toEqual(new Set(spec.containers.map(({ image }) => image)));
    expect(mayConnect(charted, podsOf(charted, 'waybill-test'), podsOf(charted, 'waybill-api'), 4646)).toBe(true);
  });

  it('has settings of the values stand in for those of the manifests', () => {
    const run = rendered('waybill', [
      '--set',
      'config.WAYBILL_LOG_LEVEL=debug',
      '--set-string',
      'config.WAYBILL_AUDIT_ENABLED=true',
    ]);
    const config = run.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'waybill-config');
    expect(config?.data).toMatchObject({
      WAYBILL_LOG_LEVEL: 'debug',
      WAYBILL_AUDIT_ENABLED: 'true',
      WAYBILL_REGION: 'global',
    });
  });

  it('gives pods another checksum when a setting changes', () => {
    const checksums = (args: string[]) =>
      rendered('waybill', args)
        .filter(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet')
        .map((object) => JSON.stringify(object.spec.template.metadata));
    const [one, same, other] = [[], [], ['--set', 'config.WAYBILL_LOG_LEVEL=debug']].map(checksums);
    expect(same).toEqual(one);
    expect(one!.filter((text) => other!.includes(text))).toEqual([]);
  });

  it.each([
    ['a value that it does not know', ['image.tga=1'], /tga/],
    ['a moving tag', ['image.tag=latest'], /latest|image\.tag|image\/tag/],
    ['two NATS servers', ['nats.replicas=2'], /replicas/],
    ['a setting that is none of Waybill', ['config.LOG_LEVEL=debug'], /LOG_LEVEL/],
    ['a password that would change the address', ['postgres.password=a@b'], /password/],
    ['TLS between the servers of one', ['tls.enabled=true', 'nats.replicas=1'], /needs nats\.replicas=3/],
    [
      'the network of machines without keys for NATS',
      ['agents.hostNetwork=true', 'natsCredentials.enabled=false'],
      /agents\.hostNetwork needs natsCredentials\.enabled/,
    ],
    ['agents in the namespace of the release', ['agents.namespace=waybill'], /must be another namespace/],
  ])('refuses %s', (_, values, reason) => {
    const run = template('waybill', ['--set', values.join(',')]);
    expect(run.status).not.toBe(0);
    expect(run.stderr).toMatch(reason);
  });

  it('passes the linter of helm', () => {
    const run = spawnSync(helm ?? 'helm', ['lint', '--strict', 'charts/waybill'], { cwd: root, encoding: 'utf8' });
    expect(run.stdout).toContain('0 chart(s) failed');
    expect(run.status).toBe(0);
  });
});
