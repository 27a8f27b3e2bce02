import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '@waybill/embedded';
import { stringify } from 'yaml';
import { eventually } from '../wait.js';

const ADMIN_TOKEN = 'admin-of-tests';
const READY_TIMEOUT_MS = 120_000;
/** Most bytes of output of a command. */
const MAX_OUTPUT = 64 * 1024 * 1024;

/** What a command said. */
export interface Said {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

/**
 * A Kubernetes API server with its etcd, from the programs that ETCD and KUBE_APISERVER name. It has every admission plugin
 * of a real cluster and no controllers, no scheduler and no nodes, so it checks and stores objects and starts nothing.
 */
export class KubernetesApiServer {
  private constructor(
    private readonly dir: string,
    readonly url: string,
    private readonly programs: readonly ChildProcess[],
  ) {}

  static async start(): Promise<KubernetesApiServer> {
    const dir = mkdtempSync(path.join(tmpdir(), 'waybill-kubernetes-'));
    const [client, peer, api] = [await freePort(), await freePort(), await freePort()];
    const key = path.join(dir, 'accounts.key');
    const made = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(key, made.privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
    writeFileSync(path.join(dir, 'tokens.csv'), `${ADMIN_TOKEN},admin,1,"system:masters"\n`, { mode: 0o600 });
    const etcd = `http://127.0.0.1:${client}`;
    const programs = [
      begin(dir, 'ETCD', [
        `--data-dir=${path.join(dir, 'etcd')}`,
        `--listen-client-urls=${etcd}`,
        `--advertise-client-urls=${etcd}`,
        `--listen-peer-urls=http://127.0.0.1:${peer}`,
        '--unsafe-no-fsync',
      ]),
      begin(dir, 'KUBE_APISERVER', [
        `--etcd-servers=${etcd}`,
        `--secure-port=${api}`,
        '--bind-address=127.0.0.1',
        `--cert-dir=${path.join(dir, 'certificates')}`,
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-key-file=${key}`,
        `--service-account-signing-key-file=${key}`,
        '--service-cluster-ip-range=10.96.0.0/16',
        '--authorization-mode=RBAC',
        `--token-auth-file=${path.join(dir, 'tokens.csv')}`,
      ]),
    ];
    const server = new KubernetesApiServer(dir, `https://127.0.0.1:${api}`, programs);
    writeFileSync(server.kubeconfig, stringify(server.access()), { mode: 0o600 });
    try {
      await eventually(
        `the Kubernetes API server is ready (logs: ${dir})`,
        () => server.kubectl(['get', '--raw', '/readyz']).out === 'ok',
        READY_TIMEOUT_MS,
      );
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  /** The file by which kubectl and helm find the server. */
  get kubeconfig(): string {
    return path.join(this.dir, 'kubeconfig');
  }

  /** The authority that signed the server's certificate, in PEM. */
  get certificate(): string {
    return readFileSync(path.join(this.dir, 'certificates', 'apiserver.crt'), 'utf8');
  }

  /** Runs kubectl as an administrator. @param input its standard input, as text or as objects */
  kubectl(args: readonly string[], input?: string | readonly object[]): Said {
    const text = typeof input === 'string' ? input : JSON.stringify({ kind: 'List', apiVersion: 'v1', items: input });
    return said('kubectl', args, { KUBECONFIG: this.kubeconfig }, input === undefined ? '' : text);
  }

  /** Runs the Helm that HELM names. */
  helm(args: readonly string[]): Said {
    const home = path.join(this.dir, 'helm');
    return said(process.env['HELM'] ?? 'helm', args, { KUBECONFIG: this.kubeconfig, HELM_CACHE_HOME: home });
  }

  async stop(): Promise<void> {
    for (const program of this.programs.toReversed()) {
      if (program.exitCode !== null || program.signalCode !== null) continue;
      const ended = once(program, 'exit');
      program.kill();
      await ended;
    }
    rmSync(this.dir, { recursive: true, force: true });
  }

  private access(): object {
    const cluster = { server: this.url, 'insecure-skip-tls-verify': true };
    return {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'tests', cluster }],
      users: [{ name: 'admin', user: { token: ADMIN_TOKEN } }],
      contexts: [{ name: 'tests', context: { cluster: 'tests', user: 'admin' } }],
      'current-context': 'tests',
    };
  }
}

function begin(dir: string, variable: 'ETCD' | 'KUBE_APISERVER', args: readonly string[]): ChildProcess {
  const program = process.env[variable];
  if (program === undefined) throw new Error(`${variable} names no program: use npm run test:kubernetes`);
  const log = createWriteStream(path.join(dir, `${variable.toLowerCase()}.log`));
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.pipe(log);
  child.stderr.pipe(log);
  return child;
}

function said(program: string, args: readonly string[], env: NodeJS.ProcessEnv, input = ''): Said {
  const run = spawnSync(program, args, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    input,
    maxBuffer: MAX_OUTPUT,
  });
  if (run.error) throw run.error;
  return { status: run.status, out: run.stdout, err: run.stderr };
}
