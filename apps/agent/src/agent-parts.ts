import { type Node, type Timers, WallClockTimers } from '@waybill/model';
import type { AgentRuntime } from './agent-runtime.js';
import {
  AllocationGarbageCollector,
  type DiskUse,
  type KeepLimits,
} from './allocations/allocation-garbage-collector.js';
import type { AgentServices } from './allocations/agent-services.js';
import type { AllocationDirectories } from './allocations/disk/allocation-directories.js';
import { type IncomingDisk, PreviousDisk } from './allocations/disk/previous-disk.js';
import { LocalAllocations } from './allocations/local-allocations.js';
import type { AllocationRecords } from './allocations/records/allocation-record.js';
import { StopsOnDisconnect } from './allocations/stops-on-disconnect.js';
import type { MachineIntroduction } from './contact/introduction.js';
import { ContactEffects } from './contact/contact-effects.js';
import { DEV_RETRY_MS } from './contact/heartbeat-pace.js';
import { OrderedUpdates } from './contact/ordered-updates.js';
import { StateResender } from './contact/state-resender.js';
import { PendingUpdates } from './contact/pending-updates.js';
import { PullEffects } from './contact/pull-effects.js';
import { PullLoop } from './contact/pull-loop.js';
import { PUSH_RETRY_MS, PushLoop } from './contact/push-loop.js';
import { type ContactListener, ServerContact } from './contact/server-contact.js';
import type { Driver } from './drivers/driver.js';
import type { LeftRunning } from './drivers/supervised/left-running.js';
import { MachineCredential } from './machine/identity/machine-credential.js';
import type { Caller } from './machine/identity/caller.js';
import type { MachineIdentities } from './identities/machine-identities.js';
import type { AllocationNetworks } from './networks/allocation-networks.js';
import { networkProbe, type Probe } from './services/probe.transport.js';
import { serversRegistry } from './services/service-registry.js';
import type { TaskHook } from './tasks/task-hook.js';
import { MAX_KILL_TIMEOUT_MS } from './tasks/task-stopper.js';
import type { StorageHost } from './volumes/csi/allocation-storage.js';
import { Gate } from './waiting/gate.js';
import type { RoleTerms } from '@waybill/rpc';

export interface AgentDependencies extends AgentRuntime {
  /** As in `ServerContact`. If it is absent, the clock is not compared with that of the servers. */
  readonly asksTime?: () => (unixMs: number) => void;
  /** Is told the holders of roles in the servers' answers (AU-256). If it is absent, the machine is called by nobody. */
  readonly hearsTerms?: (terms: RoleTerms | undefined) => void;
  /** The credential of the machine. By default it is the secret of the machine's description alone. */
  readonly credential?: MachineCredential;
  /** Introduces a machine that the servers do not know yet. */
  readonly introduction?: MachineIntroduction;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  /** Returns the current description of the machine, with its secret. */
  readonly node: () => Node;
  readonly drivers: ReadonlyMap<string, Driver>;
  /** The upper limit of a task's own `kill_timeout` (AG-155); the default is MAX_KILL_TIMEOUT_MS. */
  readonly maxKillTimeoutMs?: number;
  readonly directories: AllocationDirectories;
  /** The task hooks in the order in which they run; the default is none. */
  readonly taskHooks?: readonly TaskHook[];
  /** Runs checks of services; the default is over the network. */
  readonly probe?: Probe;
  /** Absent if this machine gives its tasks no tokens. */
  readonly identities?: MachineIdentities;
  /** Absent if all tasks use the network of the machine. */
  readonly networks?: Pick<AllocationNetworks, 'prepare' | 'find' | 'release' | 'releaseOthers'>;
  /** Absent if this machine has no CSI volumes. */
  readonly csi?: StorageHost;
  /** Absent if disks do not move between machines. */
  readonly incomingDisk?: (allocId: string) => IncomingDisk;
  readonly records: AllocationRecords;
  /** Returns the running tasks of this machine, of any agent; absent if that is unknown. */
  readonly leftRunning?: () => Promise<readonly LeftRunning[]>;
  readonly diskUse: () => Promise<DiskUse>;
  /** The limits for ended allocations; the default is KEEP_LIMITS. */
  readonly keepLimits?: KeepLimits;
  /** Whether tasks are stopped when the agent ends, and every retry is quick (AG-15). */
  readonly stopTasksOnExit: boolean;
}

/** AgentParts are the parts of an agent. `buildAgent` shows how they depend on each other. */
export interface AgentParts {
  /** States of the allocations that the servers have yet to hear. */
  readonly pending: PendingUpdates;
  readonly allocations: LocalAllocations;
  readonly contact: ServerContact;
  readonly collector: AllocationGarbageCollector;
  readonly disconnectStops: StopsOnDisconnect;
  readonly pushLoop: PushLoop;
  readonly pullLoop: PullLoop;
  /** Reacts to registrations and heartbeats. `contact` gets it when it starts. */
  readonly contactEffects: ContactListener;
}

/**
 * Builds the parts of an agent. Each part gets parts that are built before it:
 *
 *     allocations → pending ← pushLoop → servers          allocations ← collector, disconnectStops
 *     servers → pullLoop → pullEffects → allocations, and then the parts that wait for a list
 *     servers ↔ contact → contactEffects → pullLoop
 *
 * There is one cycle: a registration starts the pull, and a pull that finds the servers' state restored registers the
 * machine again (OP-47). So `contact` gets its listener, `contactEffects`, when it starts.
 */
export function buildAgent(deps: AgentDependencies): AgentParts {
  const { rpc, clock, timers, random, logger, node, asksTime, hearsTerms, stopTasksOnExit: dev } = deps;
  const { ID, SecretID: secretId } = node();
  const credential = deps.credential ?? new MachineCredential(secretId);
  const caller: Caller = () => ({ ID, SecretID: credential.current });
  const deadlines = new WallClockTimers({ clock, timers });
  const serversAsked = new Gate();

  const pending = new PendingUpdates();
  const allocations = new LocalAllocations(servicesOf(deps, { deadlines, serversAsked, pending, caller }), pending);

  const { introduction } = deps;
  const contact = new ServerContact({
    rpc,
    clock,
    timers,
    random,
    logger,
    node,
    credential,
    dev,
    asksTime,
    hearsTerms,
    introduction,
  });
  const collector = new AllocationGarbageCollector({
    timers,
    logger,
    allocations,
    diskUse: deps.diskUse,
    ...(deps.keepLimits && { limits: deps.keepLimits }),
  });
  const disconnectStops = new StopsOnDisconnect({ clock, timers: deadlines, contact, allocations });

  const updates = new OrderedUpdates(rpc, caller);
  const retryMs = dev ? DEV_RETRY_MS : PUSH_RETRY_MS;
  const pushLoop = new PushLoop({
    timers,
    logger,
    random,
    retryMs,
    pending,
    sender: updates,
    acknowledgements: allocations,
  });

  const stateResender = new StateResender({ allocations, pending, serversAsked });
  const receiver = new PullEffects({
    allocations,
    serversAsked,
    contact,
    stateResender,
    updates,
    pushLoop,
    collector,
    disconnectStops,
  });
  const pullLoop = new PullLoop({
    rpc,
    timers,
    random,
    logger,
    caller,
    dev,
    allocations,
    receiver,
    hearsTerms,
  });
  const contactEffects = new ContactEffects(pullLoop, stateResender);

  return { pending, allocations, contact, collector, disconnectStops, pushLoop, pullLoop, contactEffects };
}

interface SharedParts {
  readonly deadlines: Timers;
  readonly serversAsked: Gate;
  readonly pending: PendingUpdates;
  readonly caller: Caller;
}

/** Returns the services for every allocation. */
function servicesOf(deps: AgentDependencies, shared: SharedParts): Omit<AgentServices, 'predecessorsEnded'> {
  const { deadlines, serversAsked, pending, caller } = shared;
  return {
    ...deps,
    deadlines,
    maxKillTimeoutMs: deps.maxKillTimeoutMs ?? MAX_KILL_TIMEOUT_MS,
    probe: deps.probe ?? networkProbe,
    registry: serversRegistry(deps.rpc, caller),
    serversAsked,
    ...(deps.incomingDisk && {
      previousDisk: new PreviousDisk({ ...deps, incoming: deps.incomingDisk, identity: caller }),
    }),
    report: (update, traceparent) => pending.addUpdate(update, traceparent),
  };
}
