import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import Docker from 'dockerode';
import { NetworkMachine } from './network-machine.js';
import { eventually } from './wait.js';

const PROGRAM = '/usr/sbin/dockerd';
/** On busy cores; one that needs longer than this does not start at all. */
const READY_TIMEOUT_MS = 30_000;
const END_TIMEOUT_MS = 15_000;

/** Why there can be no engine here; undefined: it can be tried. */
export const whyNoOwnEngine = (): string | undefined => (existsSync(PROGRAM) ? undefined : `needs ${PROGRAM}`);

/**
 * A container engine of a machine of the tests: its network, its images and its containers are there, and go with the
 * machine. The engine of the machine that the tests run on is neither needed nor touched.
 */
export class OwnEngine {
  private constructor(
    private daemon: ChildProcess,
    readonly docker: Docker,
    private readonly machine: NetworkMachine,
  ) {}

  /** Where a driver outside the machine reaches it. */
  get endpoint(): string {
    return `unix:///proc/${this.machine.pid}/root/run/docker.sock`;
  }

  /** @returns the reason if the engine does not start here, such as a missing right */
  static async start(machine: NetworkMachine): Promise<OwnEngine | string> {
    const { daemon, docker, said } = await OwnEngine.run(machine);
    const answers = await docker.ping().then(
      () => true,
      () => false,
    );
    const last = said().trim().split('\n').at(-1);
    return answers ? new OwnEngine(daemon, docker, machine) : `needs a dockerd that starts: ${last}`;
  }

  /** Ends it as a system does for an update, which ends its containers, and starts it again. */
  async restart(): Promise<void> {
    const ended = once(this.daemon, 'exit');
    NetworkMachine.signal(this.daemon, 'SIGTERM');
    await ended;
    const again = await OwnEngine.run(this.machine);
    this.daemon = again.daemon;
    await this.docker.ping().catch((cause: unknown) => {
      throw new Error(`the engine did not start again: ${again.said()}`, { cause });
    });
  }

  private static async run(machine: NetworkMachine) {
    const args = '--data-root /run/engine --exec-root /run/docker -H unix:///run/docker.sock -l warn'.split(' ');
    const [command, rest] = machine.command(PROGRAM, args);
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };
    const daemon = spawn(command, rest, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    daemon.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-2_000)));
    const docker = new Docker({ socketPath: `/proc/${machine.pid}/root/run/docker.sock` });
    const isUp = async (): Promise<boolean> => daemon.exitCode !== null || (await docker.ping().then(() => true));
    await eventually('the engine answers', isUp, READY_TIMEOUT_MS).catch(() => daemon.kill());
    return { daemon, docker, said: () => said };
  }

  /** Names of containers, whether they run or not. */
  async containers(): Promise<string[]> {
    const all = await this.docker.listContainers({ all: true });
    return all.flatMap(({ Names }) => Names.map((name) => name.slice(1))).toSorted();
  }

  /** Containers have to end before it does: a killed engine leaves their cgroups on the machine of the tests. */
  async stop(): Promise<void> {
    for (const { Id } of await this.docker.listContainers({ all: true }))
      await this.docker.getContainer(Id).remove({ force: true, v: true });
    const ended = once(this.daemon, 'exit');
    NetworkMachine.signal(this.daemon, 'SIGTERM');
    await Promise.race([ended, once(AbortSignal.timeout(END_TIMEOUT_MS), 'abort')]);
  }
}
