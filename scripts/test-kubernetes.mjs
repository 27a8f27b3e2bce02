// `npm run test:kubernetes [-- path …]`: builds a Kubernetes API server and Helm, once, and runs the tests of test/kubernetes
// against them. Needs Go of the version in test/kubernetes/binaries/go.mod, kubectl, and half an hour on two busy cores the
// first time. KUBERNETES_CACHE names another directory for the programs than ~/.cache/waybill-kubernetes.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
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

const [etcdFile = '', serverFile = '', helmFile = ''] = PROGRAMS.map(built);
const env = { ETCD: etcdFile, KUBE_APISERVER: serverFile, HELM: helmFile, TEST_PACKAGES_BUILT: 'true' };
const exit = await runVitest(['run', '--project', 'kubernetes', ...process.argv.slice(2)], env);
process.exitCode = typeof exit === 'number' ? exit : 1;
