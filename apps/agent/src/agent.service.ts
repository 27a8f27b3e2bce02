import { onNodesChanged } from '@waybill/rpc';
import { metricsView, statsdSender, type ServiceContext, type ServiceDefinition } from '@waybill/service';
import { processLog, snakeCase } from '@waybill/telemetry';
import { Agent } from './agent.js';
import { AgentGuard } from './authority/agent-guard.js';
import { RoleHolders } from './authority/role-holders.js';
import { RoleHoldersFile } from './authority/role-holders.store.js';
import { AgentModule } from './agent.module.js';
import { AllocationActions } from './allocations/allocation-actions.js';
import { AllocationDirectoryStore } from './allocations/disk/allocation-directories.store.js';
import { secretsOf } from './allocations/disk/secrets.service.js';
import { AllocationRecordStore } from './allocations/records/allocation-record.store.js';
import { csiHostOf, nodeEventsOf, volumeHookParts } from './volumes/csi/csi.service.js';
import { DriverWatch, firstFingerprints } from './machine/node/driver-watch.js';
import type { Driver } from './drivers/driver.js';
import { driversOf } from './drivers/drivers.service.js';
import { leftRunning } from './drivers/supervised/left-running.js';
import { beginExec } from './tasks/exec/begin-exec.js';
import { RemoteExec } from './tasks/exec/remote-exec.js';
import { pluginsOf } from './plugins/plugins.service.js';
import { networksOf } from './networks/networks.service.js';
import { withNetworks } from './machine/fingerprint/networks.js';
import { AllocationFiles } from './allocations/files/allocation-files.js';
import { diskOf, sampleHost } from './machine/fingerprint/host-sample.js';
import { fingerprintMachine, type Machine, type MachineOverrides } from './machine/fingerprint/machine.js';
import { taskHooks } from './tasks/task-hooks.service.js';
import { attributesOf, hostVolumePluginsOf, hostVolumesOf } from './volumes/host/host-volumes.service.js';
import { staticHostVolumes } from './volumes/host/static-host-volumes.store.js';
import { serversSigner } from './identities/identity-signer.js';
import { loginsOf } from './logins/logins.service.js';
import { MachineIdentities } from './identities/machine-identities.js';
import { machineUsers } from './drivers/user-ids.js';
import { HostUsage } from './machine/node/host-usage.js';
import { incomingDisk } from './allocations/disk/incoming-disk.store.js';
import { MachineCredential } from './machine/identity/machine-credential.js';
import { NodeIdentityFile } from './machine/identity/node-identity.store.js';
import { loadIdentity, lockDirectory } from './machine/identity/identity.store.js';
import { TaskOutputs } from './tasks/logs/task-output.js';
import { MachineMetricsModule } from './machine/metrics/machine-metrics.module.js';
import { machineMetricsOf } from './machine/metrics/machine-metrics.service.js';
import { LocalNode } from './machine/node/local-node.js';
import { AgentLogReaders } from './machine/agent-log/agent-log-readers.js';
import { NodeMeta } from './machine/metadata/node-meta.js';
import { NodeMetaFile } from './machine/metadata/node-meta.store.js';
import { NodeMetaModule } from './machine/metadata/node-meta.module.js';
import { describeNode } from './machine/node/node-description.js';
import { IntroductionFiles } from './contact/introduction.store.js';
import { machineProofOf } from './contact/machine-proof.store.js';
import { SelfDrain } from './contact/self-drain.js';
import { TaskLogs } from './tasks/logs/task-logs.js';
import { TaskAnswers } from './tasks/api-socket/task-answers.js';
import { ServerReads } from './tasks/templates/server-reads.js';
import { below, ownDirectory } from './paths/path-name.js';

/** The `agent` service: one per machine. */
export const agent: ServiceDefinition = {
  name: 'agent',
  needs: { state: false, database: false },
  natsProof: (settings) => machineProofOf(settings, process.env),
  async build(context) {
    const { settings, rpc, clock, timers, newId, logger } = context;
    const dir = ownDirectory(settings.WAYBILL_AGENT_DIR);
    const unlock = await lockDirectory(dir, settings.WAYBILL_RAW_EXEC_USER !== '');
    const stopTasksOnExit = settings.WAYBILL_AGENT_STOP_TASKS_ON_EXIT;
    const outputs = new TaskOutputs(below(dir, 'collect'), stopTasksOnExit, logger);
    const secrets = secretsOf(context, dir);
    const directories = new AllocationDirectoryStore(below(dir, 'allocs'), secrets.memory);
    const machine = await fingerprintMachine(dir, overridesOf(context));
    const mhzPerCore = Number(machine.attributes['cpu.frequency']);
    const builtIn = await driversOf(context, dir, outputs, mhzPerCore);
    const plugins = await pluginsOf(context, { dir, outputs, mhzPerCore, builtIn: new Set(builtIn.keys()) });
    const drivers = new Map([...builtIn, ...plugins.drivers]);
    const volumePlugins = await hostVolumePluginsOf(context, dir);
    const nodeMeta = await NodeMeta.load(settings.WAYBILL_NODE_META, new NodeMetaFile(dir, logger));
    const networks = await networksOf(context, dir, drivers);
    const attributes = {
      ...machine.attributes,
      ...secrets.attributes,
      ...attributesOf(volumePlugins),
      ...networks.found.attributes,
    };
    const devices = plugins.devices.all();
    const resources = {
      ...withNetworks(machine.resources, networks.found),
      ...(devices.length > 0 && { Devices: devices }),
    };
    const described = { ...machine, attributes, resources };
    const node = new LocalNode(await nodeOf(context, dir, { machine: described, drivers, meta: nodeMeta.merged }));
    const { ID: nodeId, SecretID: secretId } = node.current;
    const credential = await MachineCredential.load(secretId, new NodeIdentityFile(dir, logger));
    const caller = () => ({ ID: nodeId, SecretID: credential.current });
    const events = nodeEventsOf(context, caller);
    const watch = new DriverWatch({ clock, timers, drivers, node, emit: (event) => events.emit(event) });
    const csi = csiHostOf(context, dir, { node, caller, events });
    const hostVolumes = hostVolumesOf(context, dir, node, volumePlugins);
    const hostUsage = new HostUsage(mhzPerCore);
    const identities = new MachineIdentities({
      signer: serversSigner(rpc, caller),
      clock,
      timers,
      random: context.random,
      logger,
    });
    const { logins, reads: loginReads, fingerprints } = loginsOf(context, { node, identities });
    const taskAnswers = new TaskAnswers();
    const reads = new ServerReads({ rpc, timers, identity: caller });
    const holders = await RoleHolders.load(new RoleHoldersFile(dir, logger), logger);
    const running = new Agent({
      rpc,
      clock,
      asksTime: context.asksTime,
      hearsTerms: (terms) => holders.updateHolders(terms),
      credential,
      introduction: new IntroductionFiles(dir, process.env, settings.WAYBILL_CLIENT_INTRO_TOKEN_FILE),
      timers,
      newId,
      random: context.random,
      logger,
      tracer: () => context.tracer,
      region: settings.WAYBILL_REGION,
      hostEnv: process.env,
      node: () => node.current,
      drivers,
      maxKillTimeoutMs: settings.WAYBILL_MAX_KILL_TIMEOUT_MS,
      directories,
      csi,
      ...(networks.allocations && { networks: networks.allocations }),
      identities,
      taskHooks: taskHooks({
        identities: { identities, userOf: machineUsers(drivers) },
        logins: { logins, userOf: machineUsers(drivers) },
        apiSockets: { rpc, newId, nodeId: () => nodeId, answers: taskAnswers, logger, userOf: machineUsers(drivers) },
        devices: { reserve: (device) => plugins.devices.reserve(device) },
        ...volumeHookParts(csi, node, drivers),
        artifacts: { machineFiles: settings.WAYBILL_AGENT_ARTIFACT_FILES },
        templates: {
          clock,
          timers,
          random: context.random,
          servers: (allocId, task) => reads.of(allocId, task),
          logins: (allocId, task) => loginReads.of(allocId, task),
        },
      }),
      incomingDisk: (allocId) => incomingDisk(directories, allocId),
      records: new AllocationRecordStore(below(dir, 'state'), logger),
      leftRunning: () => leftRunning(below(dir, 'runs')),
      diskUse: async () => {
        const { UsedPercent, InodesUsedPercent } = await diskOf(dir);
        return { diskPercent: UsedPercent, inodesPercent: InodesUsedPercent };
      },
      keepLimits: {
        allocs: settings.WAYBILL_GC_MAX_ALLOCS,
        diskPercent: settings.WAYBILL_GC_DISK_USAGE_THRESHOLD,
        inodesPercent: settings.WAYBILL_GC_INODE_USAGE_THRESHOLD,
      },
      stopTasksOnExit,
    });
    node.onChange(() => running.nodeChanged());
    plugins.onTaskEvent((event) => running.taskEvent(event));
    plugins.onDevicesChanged(() => node.devices(plugins.devices.all()));
    plugins.onDeviceFault((device_plugin, Message) =>
      events.emit({ Subsystem: 'Device', Message, Details: { device_plugin } }),
    );
    for (const name of ['allocations', 'runningAllocations', 'pendingUpdates'])
      context.metrics.gauge(`agent_${snakeCase(name)}`, `Agent: ${name}`, {
        collect: () => running.stats()[name] ?? 0,
      });
    const machineMetrics = machineMetricsOf(context, {
      dir,
      mhzPerCore,
      node: () => ({ ...node.current, ...running.standing }),
      allocs: () => running.allRunners(),
    });
    const readMetrics = () => machineMetrics.readMetrics();
    const statsd = statsdSender(context, readMetrics);
    let stopListening = (): void => {};
    const logs = new TaskLogs(
      (allocId, task) => directories.paths(allocId, task).logsDir,
      (allocId, task) => running.taskState(allocId, task),
    );
    const execOptions = { agent: running, enabled: settings.WAYBILL_AGENT_REMOTE_EXEC };
    const sessions = new RemoteExec({ timers, newId, begin: (request) => beginExec(execOptions, request) });
    const deviceStats = () => plugins.devices.stats();
    const actions = new AllocationActions(
      running,
      async () => ({ ...hostUsage.of(await sampleHost(dir)), DeviceStats: deviceStats() }),
      deviceStats,
    );
    return {
      module: AgentModule.of({
        logs,
        files: new AllocationFiles(directories, (allocId) => running.isLive(allocId)),
        actions,
        csi,
        hostVolumes,
        nodeMeta: NodeMetaModule.of(nodeMeta, node),
        metrics: MachineMetricsModule.of(machineMetrics),
        exec: sessions,
        logReaders: new AgentLogReaders(processLog.ofService(agent.name), timers),
        taskAnswers,
        credential,
      }),
      rpcTarget: nodeId,
      guard: new AgentGuard({
        rpc,
        clock,
        node: caller,
        holders,
        pulledIndex: () => running.pulledIndex,
      }),
      metrics: metricsView(context, readMetrics),
      start: async () => {
        await outputs.start();
        await csi.start();
        watch.start();
        fingerprints.start();
        await hostVolumes.start();
        for (const Message of networks.found.events) events.emit({ Subsystem: 'Network', Message, Details: {} });
        stopListening = onNodesChanged(context.link, () => running.serversChanged());
        await running.start();
        statsd.start();
      },
      leave: async (signal) => {
        const { WAYBILL_AGENT_LEAVE_ON_INTERRUPT, WAYBILL_AGENT_LEAVE_ON_TERMINATE } = settings;
        const leaves = signal === 'SIGINT' ? WAYBILL_AGENT_LEAVE_ON_INTERRUPT : WAYBILL_AGENT_LEAVE_ON_TERMINATE;
        if (!leaves || !settings.WAYBILL_AGENT_DRAIN_ON_SHUTDOWN) return;
        const drain = {
          deadlineMs: settings.WAYBILL_AGENT_DRAIN_DEADLINE_MS,
          force: settings.WAYBILL_AGENT_DRAIN_FORCE,
          ignoreSystemJobs: settings.WAYBILL_AGENT_DRAIN_IGNORE_SYSTEM_JOBS,
        };
        const unfinishedAllocations = () => running.unfinishedAllocations();
        await new SelfDrain(drain, {
          rpc,
          timers,
          newId,
          logger,
          node: caller,
          unfinished: unfinishedAllocations,
        }).drainMachine();
      },
      stopTakesMs: stopTasksOnExit ? settings.WAYBILL_MAX_KILL_TIMEOUT_MS : 0,
      stop: async () => {
        statsd.stop();
        stopListening();
        await sessions.stop();
        await running.stop();
        csi.stop();
        watch.stop();
        fingerprints.stop();
        loginReads.stop();
        logins.stop();
        events.stop();
        await plugins.close();
        await outputs.stop();
        if (stopTasksOnExit) await networks.allocations?.releaseOthers(new Set()); // no task runs any more
        await directories.close(stopTasksOnExit);
        await unlock();
      },
      notReady: () => (running.isRegistered ? null : 'this machine is not registered yet'),
    };
  },
};

const overridesOf = ({ settings }: ServiceContext): MachineOverrides => ({
  cpuTotalMhz: settings.WAYBILL_CPU_TOTAL_COMPUTE,
  memoryTotalMb: settings.WAYBILL_MEMORY_TOTAL_MB,
  diskTotalMb: settings.WAYBILL_DISK_TOTAL_MB,
  networkInterface: settings.WAYBILL_NETWORK_INTERFACE,
  networkSpeedMbits: settings.WAYBILL_NETWORK_SPEED,
  hostNetworks: Object.values(settings.WAYBILL_HOST_NETWORKS),
  dynamicPorts: [settings.WAYBILL_MIN_DYNAMIC_PORT, settings.WAYBILL_MAX_DYNAMIC_PORT],
});

interface FoundMachine {
  readonly machine: Machine;
  readonly drivers: ReadonlyMap<string, Driver>;
  /** Configured and dynamic metadata together. */
  readonly meta: Readonly<Record<string, string>>;
}

async function nodeOf(context: ServiceContext, dir: string, { machine, drivers, meta }: FoundMachine) {
  const { settings, clock, timers, newId } = context;
  const identity = await loadIdentity(dir, newId);
  return describeNode({
    ...identity,
    name: settings.WAYBILL_NODE_NAME,
    datacenter: settings.WAYBILL_DATACENTER,
    nodeClass: settings.WAYBILL_NODE_CLASS,
    nodePool: settings.WAYBILL_NODE_POOL,
    meta,
    httpAddr: settings.WAYBILL_AGENT_HTTP_ADDR,
    tlsEnabled: settings.WAYBILL_TLS_HTTP,
    attributes: machine.attributes,
    resources: machine.resources,
    reserved: {
      Cpu: { CpuShares: settings.WAYBILL_RESERVED_CPU, ReservedCpuCores: [] },
      Memory: { MemoryMB: settings.WAYBILL_RESERVED_MEMORY_MB },
      Disk: { DiskMB: settings.WAYBILL_RESERVED_DISK_MB },
      Networks: { ReservedHostPorts: settings.WAYBILL_RESERVED_PORTS },
    },
    drivers: await firstFingerprints(drivers, timers),
    hostNetworks: settings.WAYBILL_HOST_NETWORKS,
    hostVolumes: await staticHostVolumes(settings.WAYBILL_HOST_VOLUMES),
    gcVolumesOnNodeGC: settings.WAYBILL_GC_VOLUMES_ON_NODE_GC,
    nowMs: clock.nowMs(),
  });
}
