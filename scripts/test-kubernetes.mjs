// `npm run test:kubernetes [-- path …]`: builds a Kubernetes API server and Helm, once, and runs the tests of test/kubernetes
// against them. Needs Go of the version in test/kubernetes/binaries/go.mod, kubectl, and half an hour on two busy cores the
// first time. KUBERNETES_CACHE names another directory for the programs than ~/.cache/waybill-kubernetes.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { textOf } from './source-tree.mjs';
import { runVitest } from './vitest-run.mjs';

const source = fileURLToPath(new URL('../test/kubernetes/binaries', import.meta.url));
const required = textOf('test/kubernetes/binaries/go.mod');

/** @param {string} module @returns {string} the version of the module that go.mod requires */
function versionOf(module) {
  const line = required.split('\n').find((one) => one.trim().startsWith(`${module} v`)) ?? '';
  const version = line.trim().split(' ')[1];
  if (version === undefined) throw new Error(`test/kubernetes/binaries/go.mod does not require ${module}`);
  return version;
}

const kubernetes = versionOf('k8s.io/kubernetes');
const etcd = versionOf('go.etcd.io/etcd/server/v3');
const HELM = 'v3.18.6';
const [, major, minor] = /^v(\d+)\.(\d+)/.exec(kubernetes) ?? [];

/** The linker tells the server its version, which a build from its own repository would find in Git. */
const flags = [
  '-s -w',
  `-X k8s.io/component-base/version.gitVersion=${kubernetes}`,
  `-X k8s.io/component-base/version.gitMajor=${major}`,
  `-X k8s.io/component-base/version.gitMinor=${minor}`,
].join(' ');

/** @type {readonly { program: string, version: string, args: (out: string) => string[] }[]} */
const PROGRAMS = [
  {
    program: 'etcd',
    version: etcd,
    args: (out) => ['build', '-trimpath', '-ldflags', '-s -w', '-o', out, 'go.etcd.io/etcd/server/v3'],
  },
  {
    program: 'kube-apiserver',
    version: kubernetes,
    args: (out) => ['build', '-trimpath', '-ldflags', flags, '-o', out, 'k8s.io/kubernetes/cmd/kube-apiserver'],
  },
  { program: 'helm', version: HELM, args: () => ['install', `helm.sh/helm/v3/cmd/helm@${HELM}`] },
];

const cache = process.env['KUBERNETES_CACHE'] ?? path.join(homedir(), '.cache', 'waybill-kubernetes');

/** @param {(typeof PROGRAMS)[number]} program @returns {string} the file of the program, built if it was not there */
function built({ program, version, args }) {
  const file = path.join(cache, `${program}-${version}`);
  if (existsSync(file)) return file;
  mkdirSync(cache, { recursive: true });
  process.stderr.write(`building ${program} ${version} in ${cache}\n`);
  const made = path.join(cache, program);
  const env = { GOFLAGS: '-p=1', ...process.env, GOBIN: cache };
  const run = spawnSync('go', args(made), { cwd: source, stdio: 'inherit', env });
  if (run.error || run.status !== 0) {
    process.stderr.write(`${program} cannot be built: ${run.error?.message ?? `go ended with ${run.status}`}\n`);
    process.exit(1);
  }
  renameSync(made, file);
  return file;
}

/** The definitions of the kinds that components and examples use, in the modules of their projects. */
const DEFINITIONS = /** @type {const} */ ([
  [
    'github.com/prometheus-operator/prometheus-operator@v0.84.0',
    'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml',
    'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
  ],
  ['github.com/cert-manager/cert-manager@v1.18.2', 'deploy/crds/crd-certificates.yaml', 'deploy/crds/crd-issuers.yaml'],
  [
    'sigs.k8s.io/gateway-api@v1.3.0',
    'config/crd/standard/gateway.networking.k8s.io_gateways.yaml',
    'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml',
  ],
  ['github.com/argoproj/argo-cd/v3@v3.1.0', 'manifests/crds/application-crd.yaml'],
]);

/** @param {(typeof DEFINITIONS)[number]} entry @returns {string[]} the files of a module, which Go keeps in its own cache */
function definitions([module, ...files]) {
  const run = spawnSync('go', ['mod', 'download', '-json', module], { cwd: tmpdir(), encoding: 'utf8' });
  const { Dir = '', Error: why } = JSON.parse(run.stdout || '{}');
  if (Dir !== '') return files.map((file) => path.join(Dir, file));
  process.stderr.write(`${module} cannot be had: ${why ?? run.stderr}\n`);
  process.exit(1);
}

const [etcdFile = '', serverFile = '', helmFile = ''] = PROGRAMS.map(built);
const env = {
  ETCD: etcdFile,
  KUBE_APISERVER: serverFile,
  HELM: helmFile,
  DEFINITIONS: DEFINITIONS.flatMap(definitions).join(':'),
  TEST_PACKAGES_BUILT: 'true',
};
const exit = await runVitest(['run', '--project', 'kubernetes', ...process.argv.slice(2)], env);
process.exitCode = typeof exit === 'number' ? exit : 1;
