import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, type NatsAccounts, type RunningServer, startNats } from '@waybill/embedded';
import type { AllocatedDevice, AllocatedPort, Allocation, Job, Node, Task, TaskGroup } from '@waybill/model';
import { NS_PER_SECOND } from '@waybill/model';
import { DEFAULT_PACE, nodesService } from '@waybill/nodes';
import { NatsRpc, type Rpc } from '@waybill/rpc';
import type { Replica } from '@waybill/replica';
import { Infrastructure, newUuid, readSettings, RunningService, systemClock } from '@waybill/service';
import { draftTxn, fixtures, isRejected, serviceActor, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { AGENT_OF_TESTS } from './agent-of-tests.js';
import { killProcessesOf } from './launcher.js';
import type { NetworkMachine } from './network-machine.js';
import { eventually } from './wait.js';
import { admittedRpc } from './admitted-rpc.js';

const AGENT_MAIN = fileURLToPath(new URL('../../apps/agent/dist/main.js', import.meta.url));

/** Whom NATS lets in, and as whom the services come. */
export interface NatsGuard {
  readonly accounts: NatsAccounts;
  readonly serviceSeed: string;
}

/** A process that starts on busy cores. */
const READY_TIMEOUT_MS = 45_000;

/**
 * A real NATS, the nodes service in this process, and agents as processes of their own, which can be killed. There is
 * no scheduler: a test places allocations itself.
 */
export class NodesAndAgent {
  private readonly agents = new Set<ChildProcess>();
  private constructor(
    readonly dir: string,
    readonly nats: RunningServer,
    private readonly infrastructure: Infrastructure,
    private readonly service: RunningService,
    readonly state: Replica,
    readonly rpc: Rpc,
  ) {}

  /** @param graceMs after which an agent that is not heard of counts as gone */
  static async start(guard?: NatsGuard, graceMs = 1_000): Promise<NodesAndAgent> {
    const dir = mkdtempSync(path.join(tmpdir(), 'waybill-agent-'));
    const nats = await startNats({ dir: path.join(dir, 'nats'), ...(guard && { accounts: guard.accounts }) });
    const settings = readSettings(
      {
        WAYBILL_NATS_URL: nats.url,
        WAYBILL_NATS_CREDENTIALS: guard?.serviceSeed,
        WAYBILL_LEASE_TTL_MS: '1000',
        WAYBILL_LOG_LEVEL: 'silent',
      },
      [],
    );
    const fail = (error: Error): never => {
      throw error;
    };
    const infrastructure = new Infrastructure({ processName: 'test', settings, logger: silentLogger, onFatal: fail });
    const pace = { ...DEFAULT_PACE, minTtlMs: 1_000, graceMs };
    const service = await RunningService.start(nodesService(pace), settings, infrastructure);
    const { link } = await infrastructure.nats();
    const rpc = admittedRpc(new NatsRpc(link.nc, link.inboxPrefix));
    return new NodesAndAgent(dir, nats, infrastructure, service, await infrastructure.replica(), rpc);
  }

  async stop(): Promise<void> {
    for (const agent of this.agents) await this.endAgent(agent, 'SIGTERM');
    await this.service.stop();
    await this.infrastructure.close();
    await this.nats.stop();
    killProcessesOf(this.dir); // tasks of agents that were killed
    if (!process.env['KEEP_TEST_DIR']) rmSync(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }

  get natsUrl(): string {
    return this.nats.url;
  }

  agentDir(name: string): string {
    return path.join(this.dir, name);
  }

  /** Starts an agent and waits until it is registered. The same name finds the same directory. */
  async startAgent(name: string, extraEnv: NodeJS.ProcessEnv = {}): Promise<ChildProcess> {
    const { agent, port, logFile } = await this.spawnAgent(name, extraEnv);
    const isReady = async (): Promise<boolean> => {
      if (agent.exitCode !== null) throw new Error(`exited with ${agent.exitCode}: ${readFileSync(logFile, 'utf8')}`);
      return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
    };
    await eventually(`agent ${name} is ready`, isReady, READY_TIMEOUT_MS);
    return agent;
  }

  async spawnAgent(
    name: string,
    extraEnv: NodeJS.ProcessEnv = {},
    /** A machine of its own; absent: that of the tests. */
    machine?: NetworkMachine,
  ): Promise<{ agent: ChildProcess; port: number; logFile: string }> {
    const port = await freePort();
    const logFile = path.join(this.dir, `${name}.log`);
    const log = createWriteStream(logFile, { flags: 'a' });
    await once(log, 'open');
    const own: [string, string[]] = [process.execPath, [AGENT_MAIN]];
    const agent = spawn(...(machine?.command(...own) ?? own), {
      env: {
        PATH: process.env['PATH'],
        WAYBILL_NATS_URL: this.nats.url,
        WAYBILL_AGENT_DIR: this.agentDir(name),
        WAYBILL_NODE_NAME: name,
        WAYBILL_OPS_PORT: String(port),
        WAYBILL_LOG_FORMAT: 'line',
        ...AGENT_OF_TESTS,
        ...extraEnv,
      },
      stdio: ['ignore', log, log],
    });
    this.agents.add(agent);
    return { agent, port, logFile };
  }

  async endAgent(agent: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    this.agents.delete(agent);
    if (agent.exitCode !== null || agent.signalCode !== null) return;
    const exited = once(agent, 'exit');
    agent.kill(signal);
    await exited;
  }

  node(name: string): Promise<Node> {
    return eventually(`node ${name}`, () => [...this.state.tables.nodes.all()].find((node) => node.Name === name));
  }

  alloc(id: string): Allocation {
    const alloc = this.state.tables.allocs.get(id);
    if (!alloc) throw new Error(`no allocation ${id}`);
    return alloc;
  }

  /** Waits until the servers know the allocation in this client status. */
  inStatus(id: string, status: Allocation['ClientStatus']): Promise<Allocation> {
    return eventually(`${id} is ${status}`, () => {
      const alloc = this.alloc(id);
      if (alloc.ClientStatus !== status)
        throw new Error(JSON.stringify([alloc.ClientStatus, alloc.ClientDescription, alloc.TaskStates]));
      return alloc;
    });
  }

  async write<T extends TxnType>(type: T, payload: TxnPayloads[T], traceparent?: string): Promise<number> {
    const timeNs = systemClock.nowMs() * 1e6;
    const context = { timeNs, requestId: newUuid(), actor: serviceActor('test'), traceparent };
    const { index, verdict } = await this.state.propose(draftTxn(type, payload, context));
    if (isRejected(verdict)) throw new Error(`${type}: ${verdict.error}`);
    return index;
  }

  /** A job of one group, registered, with one allocation of it placed on the node; `after`: the one it replaces. */
  async place(
    nodeId: string,
    tasks: Task[],
    over: {
      type?: string;
      group?: Partial<TaskGroup>;
      ports?: AllocatedPort[];
      /** By the name of the task. */
      devices?: Readonly<Record<string, AllocatedDevice[]>>;
      traceparent?: string;
      after?: Allocation;
    } = {},
  ): Promise<Allocation> {
    const group = fixtures.aGroup({ Tasks: tasks, ...over.group }, over.type ?? 'service');
    const ID = over.after?.JobID ?? newUuid();
    const job: Job = fixtures.aJob({ ID, Type: over.type ?? 'service', TaskGroups: [group] });
    await this.write('JobRegister', fixtures.aRegistration(job));
    const stored = this.state.tables.jobs.get(`${job.Namespace}/${job.ID}`) ?? job;
    const evaluation = fixtures.anEval({ ID: newUuid(), JobID: job.ID, Type: job.Type });
    await this.write('EvalUpdate', { Evals: [evaluation] });
    const alloc = fixtures.anAlloc({
      ID: newUuid(),
      Job: stored,
      NodeID: nodeId,
      EvalID: evaluation.ID,
      PreviousAllocation: over.after?.ID ?? '',
    });
    if (over.ports) {
      const { Shared } = alloc.AllocatedResources;
      alloc.AllocatedResources = { ...alloc.AllocatedResources, Shared: { ...Shared, Ports: over.ports } };
    }
    for (const [task, Devices] of Object.entries(over.devices ?? {})) {
      const { Tasks } = alloc.AllocatedResources;
      const given = Tasks[task] ?? {
        Cpu: { CpuShares: 10, ReservedCores: [] },
        Memory: { MemoryMB: 10, MemoryMaxMB: 0 },
        Networks: [],
      };
      alloc.AllocatedResources = { ...alloc.AllocatedResources, Tasks: { ...Tasks, [task]: { ...given, Devices } } };
    }
    const plan = fixtures.aPlanResult({ Job: stored, AllocsUpdated: [alloc], EvalID: evaluation.ID });
    await this.write('ApplyPlanResults', plan, over.traceparent);
    return this.alloc(alloc.ID);
  }

  /** As the scheduler does when a job is stopped. */
  async stopAlloc(alloc: Allocation): Promise<void> {
    const stop = {
      ID: alloc.ID,
      DesiredDescription: 'alloc not needed due to job update',
      ClientStatus: '' as const,
      ModifyTime: systemClock.nowMs() * 1e6,
      FollowupEvalID: '',
      RescheduleTracker: null,
      AllocStates: [],
    };
    await this.write('ApplyPlanResults', fixtures.aPlanResult({ AllocsStopped: [stop], EvalID: alloc.EvalID }));
  }
}

/** A task that runs a shell line. */
export function shellTask(line: string, over: Partial<Task> = {}): Task {
  return fixtures.aTask({
    Name: 'web',
    Driver: 'raw_exec',
    Config: { command: '/bin/sh', args: ['-c', line] },
    KillTimeout: 1 * NS_PER_SECOND,
    ...over,
  });
}
