import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { createInterface } from 'node:readline';

/** Plugins as Debian's package installs them. */
export const PLUGIN_DIRECTORY = '/usr/lib/cni';
const PROGRAMS = ['/usr/sbin/iptables', '/usr/bin/busybox', '/usr/bin/nsenter', '/usr/bin/unshare'];

/** Why machines with networks of their own cannot be had here; undefined: they can. */
export function whyNoNetworks(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs root on Linux';
  if (!existsSync(`${PLUGIN_DIRECTORY}/bridge`)) return 'needs containernetworking-plugins';
  const missing = PROGRAMS.find((file) => !existsSync(file) && !existsSync(file.replace('/usr/', '/')));
  return missing === undefined ? undefined : `needs ${missing}`;
}

/** The last command of the shell reads until the process that started it closes the pipe, or is gone. */
const UNTIL_CLOSED = 'mount -t tmpfs run /run && ip link set lo up && echo ready && exec cat';
export const FIRST_PROCESS: [string, string[]] = [
  'unshare',
  ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-c', UNTIL_CLOSED],
];

/**
 * A machine of the tests: a network, a table of mounts, a /run and processes of its own. Nothing of it is seen by the
 * machine that the tests run on, and all of it goes with its first process, which ends when this process does, however
 * that ends: a run that was killed leaves no namespace, no rule and no task.
 */
export class NetworkMachine {
  private relay: Server | undefined;

  private constructor(
    private readonly first: ChildProcess,
    /** Of its first process, as the machine of the tests counts. */
    readonly pid: number,
  ) {}

  static async start(): Promise<NetworkMachine> {
    const first = spawn(...FIRST_PROCESS, { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface(first.stdout);
    const [said] = (await Promise.race([once(lines, 'line'), once(first, 'exit')])) as [unknown];
    if (said !== 'ready') throw new Error(`a machine of the tests did not start: ${String(said)}`);
    return new NetworkMachine(first, onlyChildOf(first.pid ?? 0));
  }

  /** Ends all that runs there, and with that all that is there. */
  async stop(): Promise<void> {
    this.relay?.close();
    if (this.first.exitCode !== null) return;
    const ended = once(this.first, 'exit');
    this.first.stdin?.end();
    await ended;
  }

  /** A command line that runs a program there. */
  command(file: string, args: readonly string[]): [string, string[]] {
    return ['nsenter', [`--target=${this.pid}`, '--net', '--mount', '--pid', '--', file, ...args]];
  }

  /** What a shell line prints there. @throws when it fails */
  run(line: string): string {
    return execFileSync(...this.command('sh', ['-c', line]), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** What a shell line prints there, and nothing if it fails. */
  tries(line: string): string {
    try {
      return this.run(line);
    } catch {
      return '';
    }
  }

  /** Of a program that `command` started, and not of what stands before it. */
  static signal(started: ChildProcess, signal: NodeJS.Signals): void {
    process.kill(onlyChildOf(started.pid ?? 0), signal);
  }

  /** A cable to another machine. @returns their addresses */
  connect(other: NetworkMachine, net = `10.213.${randomInt(256)}`): [string, string] {
    const [own, others] = [`${net}.1`, `${net}.2`];
    const end = (name: string, { pid }: NetworkMachine): string[] => ['name', name, 'netns', String(pid)];
    execFileSync('ip', ['link', 'add', ...end('cable1', this), 'type', 'veth', 'peer', ...end('cable0', other)]);
    this.run(`ip addr add ${own}/24 dev cable1 && ip link set cable1 up && ip route add default via ${others}`);
    other.run(`ip addr add ${others}/24 dev cable0 && ip link set cable0 up`);
    return [own, others];
  }

  /** A way from there to a port of the machine that the tests run on. @returns where it is reached */
  async reach(port: number): Promise<string> {
    const net = `10.214.${randomInt(256)}.${4 * randomInt(64)}`;
    const [outside, inside] = [1, 2].map((at) => net.replace(/\d+$/, (last) => String(Number(last) + at)));
    const name = `wbt${randomInt(1_000_000)}`;
    execFileSync('ip', ['link', 'add', name, 'type', 'veth', 'peer', 'name', 'outside', 'netns', String(this.pid)]);
    execFileSync('ip', ['addr', 'add', `${outside}/30`, 'dev', name]);
    execFileSync('ip', ['link', 'set', name, 'up']);
    this.run(`ip addr add ${inside}/30 dev outside && ip link set outside up`);
    this.relay = createServer((socket) => {
      const onwards = connect(port, '127.0.0.1');
      socket.pipe(onwards).pipe(socket);
      const end = (): void => {
        for (const one of [socket, onwards]) one.destroy();
      };
      socket.on('error', end).on('close', end);
      onwards.on('error', end).on('close', end);
    });
    this.relay.listen(0, outside);
    await once(this.relay, 'listening');
    const address = this.relay.address();
    if (typeof address !== 'object' || address === null) throw new Error('the relay listens nowhere');
    return `${outside}:${address.port}`;
  }
}

/** What a program that only waits for another one has started. */
export function onlyChildOf(pid: number): number {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  if (!child) throw new Error(`process ${pid} has started nothing`);
  return Number(child);
}
