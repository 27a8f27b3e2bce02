import { type AllocatedPort, type AllocNetworkStatus, errorText, SharedRun, type Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { Gate } from '../waiting/gate.js';
import { pause } from '../waiting/gate.js';
import { type BridgeOptions, bridgeNetwork } from './cni/bridge-network.js';
import { CniPlugins } from './cni/cni-plugins.transport.js';
import { networkNamed } from './cni/configured-networks.store.js';
import { NetworkCalls, type NetworkList, type PortMapping } from './cni/network-list.js';
import { statusOf } from './cni/network-status.js';
import { NetworkTurns } from './network-turns.js';
import { type Namespace, NamespaceUnknownError, type NetworkNamespaces } from './network-namespaces.store.js';
import type { NetworkRecord, NetworkRecords } from './network-record.js';
import type { RunProgram } from './program.transport.js';
import { ensureAdminChain } from './rules/admin-chain.js';
import { forwardingWarnings, type ReadKernelSetting } from './rules/forwarding.store.js';
import type { Iptables } from './rules/iptables.transport.js';
import type { ReadListeners } from './rules/listeners.store.js';
import { removeLeftRules } from './rules/left-rules.js';
import type { Sandbox } from './task-network.js';

/**
 * The number of networks that an agent makes or removes at the same time (NW-45). Plugins are bound by the CPU: on two
 * cores, eight at a time are no faster than four.
 */
export const PARALLEL_NETWORKS = 4;

/** The number of attempts to make an allocation's network, and the pause between them in milliseconds (NW-45). */
export const ADD_ATTEMPTS = 3;
export const RETRY_MIN_MS = 1_000;
const RETRY_RANGE_MS = 1_000;

/** The name of the interface in a task's namespace that leads out of it. */
const INTERFACE = 'eth0';
const CNI_PREFIX = 'cni/';

/** NetworkOrder describes the network that an allocation wants. */
export interface NetworkOrder {
  readonly allocId: string;
  /** The mode: `none`, `bridge`, `cni/<name>`. */
  readonly mode: string;
  readonly ports: readonly AllocatedPort[];
  /** The CNI arguments (NW-58). */
  readonly args: string;
  /** The driver that makes its namespace (NW-23); empty if the agent makes it. */
  readonly maker: string;
  /** The host name; empty if none is given. */
  readonly hostname: string;
  /** The gate that opens when the network is no longer wanted. */
  readonly givenUp: Gate;
}

/** AllocationNetwork is the network that the tasks of an allocation share. */
export interface AllocationNetwork {
  /** Path of the namespace. */
  readonly namespace: string;
  /** The container that holds the namespace; absent if there is none. */
  readonly sandbox?: Sandbox;
  /** The status; null if it has no address (mode `none`). */
  readonly status: AllocNetworkStatus | null;
  /** Whether it replaces a lost network. Tasks that still run in the old one have no connection (NW-39). */
  readonly isReplacement: boolean;
}

export interface AllocationNetworksDependencies {
  readonly run: RunProgram;
  /** The namespaces that the agent makes. */
  readonly namespaces: NetworkNamespaces;
  /** The namespaces that drivers make, by the name of the driver; absent if no driver makes any. */
  readonly namespacesOfDrivers?: ReadonlyMap<string, NetworkNamespaces>;
  readonly records: NetworkRecords;
  readonly iptables: Iptables;
  readonly readKernelSetting: ReadKernelSetting;
  readonly readListeners: ReadListeners;
  readonly timers: Timers;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly bridge: BridgeOptions;
  /** The directories of plugins. The first one that has a plugin wins (NW-51). */
  readonly pluginDirectories: readonly string[];
  readonly configDirectory: string;
  /**
   * Whether ports are mapped only on the address that the scheduler chose; false means all addresses of the machine
   * (NW-57).
   */
  readonly bindsToAddress: boolean;
  /** Says whether the plugin with this name supports CHECK (NW-53). */
  readonly canCheck: (plugin: string) => boolean;
  /** The number of networks that are made or removed at the same time (NW-45). */
  readonly parallel: number;
}

/** NetworkError says why the network of an allocation cannot be made. People see the reason (AG-81). */
export class NetworkError extends Error {
  override readonly name = 'NetworkError';
}

/**
 * AllocationNetworks makes and removes the networks of the allocations on this machine: namespaces, the plugins' work
 * in them, and rules (section 3 of the contract for networks).
 *
 * States of a network: absent → begun (it has a record) → ready → absent. A record that is begun but not ready shows
 * that an agent ended in the middle. Then the remains are removed, and the network is made again. After a failure the
 * remains are removed as well, so an allocation that cannot have its network leaves nothing behind (NW-43).
 *
 * Changes of several networks run side by side (NW-45), as the protocol of plugins allows: plugins lock the addresses
 * and the rules that they share. Three things are in order: changes of one allocation; changes with a common port of
 * the machine, so that rules of an ended allocation go before those of its successor come (NW-147); and networks of one
 * name until the first is made, because its plugins make the bridge and the chains for all, and after a failure. Between
 * two attempts, other allocations have their turn. Cost of one network: a process for the namespace, one for the admin
 * chain and one for each plugin. Memory: the names of networks that were made.
 */
export class AllocationNetworks {
  private readonly plugins: CniPlugins;
  private readonly turns: NetworkTurns;
  /** Names of networks whose bridge and chains are there: the newest attempt to make one has succeeded. */
  private readonly begunNetworks = new Set<string>();
  private readonly adminChain: SharedRun;
  private readonly listeners: SharedRun<ReadonlySet<number>>;
  private isForwardingChecked = false;

  constructor(private readonly deps: AllocationNetworksDependencies) {
    this.plugins = new CniPlugins(deps.run, deps.pluginDirectories);
    this.turns = new NetworkTurns(deps.parallel);
    this.listeners = new SharedRun(deps.readListeners);
    this.adminChain = new SharedRun(() => ensureAdminChain(deps.iptables, deps.bridge));
  }

  /**
   * Makes the network of an allocation, or finds the network that an earlier agent made (NW-31, NW-37).
   * @returns null if it was given up
   * @throws NetworkError
   */
  async prepare(order: NetworkOrder): Promise<AllocationNetwork | null> {
    const kept = await this.deps.records.load(order.allocId);
    const there = kept && (await this.awaitNamespace(kept, order.givenUp));
    if (there === 'given up') return null;
    const before = kept && (await this.runInTurn(kept, () => this.recoverNetwork(kept, there ?? undefined)));
    if (before && before !== 'gone' && before !== 'misconfigured') return before;
    const record = await this.newRecord(order);
    let first: unknown;
    for (let attempt = 1; attempt <= ADD_ATTEMPTS && !order.givenUp.isOpen; attempt++) {
      if (attempt > 1) await pause(this.deps.timers, this.retryMs(), order.givenUp);
      if (order.givenUp.isOpen) break;
      try {
        // Providing an image is not part of the turn, so that others need not wait for it.
        await this.makerOf(record).provide?.(order.allocId);
        const made = await this.makeInTurn(record, order.hostname);
        return { ...made, isReplacement: kept?.isReady === true };
      } catch (error) {
        first ??= error;
        this.deps.logger.warn('a network cannot be made', { alloc: order.allocId, attempt, error });
      }
    }
    if (first === undefined) return null;
    const why = before === 'misconfigured' ? MISCONFIGURED : 'failed to configure network';
    throw new NetworkError(`${why}: ${errorText(first)}`, { cause: first });
  }

  /**
   * Returns the existing network of an allocation, or null. It is for a stopping allocation, which makes no network but
   * may have running tasks.
   */
  async find(allocId: string): Promise<AllocationNetwork | null> {
    const kept = await this.deps.records.load(allocId);
    if (!kept?.isReady) return null;
    try {
      const namespace = await this.namespaceOf(kept);
      return namespace ? this.allocationNetwork(kept, namespace) : null;
    } catch (error) {
      if (error instanceof NamespaceUnknownError && kept.namespace) return this.allocationNetwork(kept, kept.namespace);
      throw error;
    }
  }

  /** Removes the network of an allocation, if it has one (NW-41). Never rejects: it logs failures. */
  async release(allocId: string): Promise<void> {
    try {
      const record = await this.deps.records.load(allocId);
      if (record) await this.runInTurn(record, () => this.undoNetwork(record));
    } catch (error) {
      this.deps.logger.error(LEAKED, { alloc: allocId, error });
    }
  }

  /** Removes an earlier agent's networks of allocations that are no longer known (NW-44). Never rejects. */
  async releaseOthers(known: ReadonlySet<string>): Promise<void> {
    try {
      const left = (await this.deps.records.all()).map(({ allocId }) => allocId).filter((id) => !known.has(id));
      if (left.length > 0)
        this.deps.logger.warn('networks of allocations that this agent knows nothing of are taken down', { left });
      for (const allocId of left) await this.release(allocId);
    } catch (error) {
      this.deps.logger.error('records of networks cannot be read', { error });
    }
  }

  /**
   * Recovers the network that an earlier agent made.
   * @returns the network, or why it has to be made again; then nothing is left of it
   */
  private async recoverNetwork(
    record: NetworkRecord,
    namespace: Namespace | undefined,
  ): Promise<AllocationNetwork | 'gone' | 'misconfigured'> {
    const { allocId, result, list } = record;
    const there = record.isReady ? namespace : undefined;
    if (there && (!list || !result || !this.isChecked(list))) return this.allocationNetwork(record, there);
    if (there && list && result)
      try {
        await this.networkCalls(record, list, there.path).check(result);
        return this.allocationNetwork(record, there);
      } catch (error) {
        this.deps.logger.warn('a network is not as it was made, and is made anew', { alloc: allocId, error });
      }
    await this.undoNetwork(record);
    return there ? 'misconfigured' : 'gone';
  }

  /**
   * Returns the namespace of a network. While its holder does not answer, it asks again, because running tasks must not
   * lose their network.
   */
  private async awaitNamespace(record: NetworkRecord, givenUp: Gate): Promise<Namespace | undefined | 'given up'> {
    for (let hasTold = false; !givenUp.isOpen; hasTold = true) {
      try {
        return await this.namespaceOf(record);
      } catch (error) {
        if (!(error instanceof NamespaceUnknownError)) throw error;
        if (!hasTold)
          this.deps.logger.warn('nobody can tell whether a network is there; asking again', {
            alloc: record.allocId,
            error,
          });
      }
      await pause(this.deps.timers, this.retryMs(), givenUp);
    }
    return 'given up';
  }

  /**
   * Returns the namespace as it was made, or undefined if it is gone. A namespace with the same name may be another
   * one: a pause container that the engine starts again has a new one.
   * @throws NamespaceUnknownError
   */
  private async namespaceOf(record: NetworkRecord): Promise<Namespace | undefined> {
    const found = await this.makerOf(record).find(record.allocId);
    return record.namespace && found?.path !== record.namespace.path ? undefined : found;
  }

  /** Returns what makes the namespaces of this record. @throws NetworkError */
  private makerOf({ maker = '' }: NetworkRecord): NetworkNamespaces {
    const found = maker === '' ? this.deps.namespaces : this.deps.namespacesOfDrivers?.get(maker);
    if (!found) throw new NetworkError(`the driver ${maker} makes no namespaces on this machine`);
    return found;
  }

  /** Says whether all plugins of a network can check that a namespace is still as they made it (NW-37, NW-53). */
  private isChecked(list: NetworkList): boolean {
    return list.disableCheck !== true && list.plugins.every(({ type }) => this.deps.canCheck(type));
  }

  /** Makes a record without changing the machine. @throws NetworkError if the machine lacks what the network needs */
  private async newRecord({ allocId, mode, ports, args, maker }: NetworkOrder): Promise<NetworkRecord> {
    const list = await this.listOf(mode);
    return {
      version: 1,
      allocId,
      mode,
      maker,
      namespace: null,
      list,
      args,
      portMappings: list ? mappingsOf(ports, this.deps.bindsToAddress) : [],
      result: null,
      isReady: false,
      status: null,
    };
  }

  private async listOf(mode: string): Promise<NetworkList | null> {
    if (mode === 'none') return null;
    if (mode !== 'bridge' && !mode.startsWith(CNI_PREFIX)) throw new NetworkError(`unknown network mode "${mode}"`);
    try {
      const list =
        mode === 'bridge'
          ? bridgeNetwork(this.deps.bridge)
          : await networkNamed(mode.slice(CNI_PREFIX.length), this.deps.configDirectory);
      for (const plugin of list.plugins) this.plugins.refuseMissing(plugin);
      return list;
    } catch (error) {
      throw new NetworkError(`failed to configure network: ${errorText(error)}`, { cause: error });
    }
  }

  private async makeOrUndo(begun: NetworkRecord, hostname: string): Promise<Omit<AllocationNetwork, 'isReplacement'>> {
    let record = begun;
    const saveRecord = async (next: NetworkRecord): Promise<void> => {
      record = next;
      await this.deps.records.save(next);
    };
    try {
      await saveRecord(begun);
      const { allocId, list, mode } = begun;
      const maker = this.makerOf(begun);
      const namespace = await maker.make(allocId, hostname);
      await saveRecord({ ...begun, namespace });
      if (!maker.raisesLoopback) await this.raiseLoopback(begun, namespace.path);
      if (mode === 'bridge') await this.adminChain.requestRun();
      if (list) {
        const needed = maker.raisesLoopback ? withoutLoopback(begun, list) : list;
        const calls = this.networkCalls(begun, needed, namespace.path);
        const result = await calls.add((found) => saveRecord({ ...record, result: found }));
        await saveRecord({ ...record, result, status: statusOf(result) });
      }
      if (mode === 'bridge') await this.checkForwarding();
      await this.tellHiddenListeners(begun);
      await saveRecord({ ...record, isReady: true });
      return this.allocationNetwork(record, namespace);
    } catch (error) {
      await this.undoNetwork(record);
      throw error;
    }
  }

  /** Logs once what keeps packets from bridged tasks (NW-85). The bridge plugin switches forwarding on, so it runs before. */
  private async checkForwarding(): Promise<void> {
    if (this.isForwardingChecked) return;
    this.isForwardingChecked = true;
    for (const warning of await forwardingWarnings(this.deps.readKernelSetting)) this.deps.logger.warn(warning);
  }

  /** Logs the ports of programs of the machine that lead into the network now, so nobody reaches the programs (NW-146). */
  private async tellHiddenListeners({ allocId, portMappings }: NetworkRecord): Promise<void> {
    if (portMappings.length === 0) return;
    const listening = await this.listeners.requestRun();
    const ports = [...new Set(portMappings.map(({ hostPort }) => hostPort))].filter((port) => listening.has(port));
    if (ports.length === 0) return;
    const message =
      'a program of this machine listens on a port of an allocation, and others reach the allocation instead';
    this.deps.logger.warn(message, { alloc: allocId, ports });
  }

  private async raiseLoopback(record: NetworkRecord, netns: string): Promise<void> {
    if (record.list?.plugins.some(({ type }) => type === 'loopback')) return;
    const config = { type: 'loopback', name: 'loopback', cniVersion: '0.4.0' };
    await this.plugins.call('ADD', config, { ...attachmentOf(record, netns), ifName: 'lo' });
  }

  /**
   * Removes the whole network, despite failures. Failures are logged, and the record stays, so that the next agent
   * tries again.
   */
  private async undoNetwork(record: NetworkRecord): Promise<void> {
    const { allocId, list } = record;
    const errors: string[] = [];
    if (list) {
      const { isThere, netns } = await this.namespaceToUndo(record);
      const failed = await this.networkCalls(record, withoutLoopback(record, list), netns).del(record.result);
      // Without the namespace, plugins believe that its rules are gone, too. Later namespaces would meet these rules.
      if (failed.length > 0 || !isThere)
        try {
          await removeLeftRules(this.deps.iptables, list.name, allocId);
        } catch (error) {
          failed.push(errorText(error));
        }
      for (const item of failed) errors.push(item);
    }
    try {
      await this.makerOf(record).remove(allocId);
    } catch (error) {
      errors.push(errorText(error));
    }
    if (errors.length === 0) return this.deps.records.remove(allocId);
    this.deps.logger.error(LEAKED, { alloc: allocId, errors });
    await this.deps.records.save({ ...record, isReady: false });
  }

  /**
   * Finds the namespace for plugins that remove a network. If its holder does not answer, the recorded path is used,
   * and the rules are removed separately.
   */
  private async namespaceToUndo(record: NetworkRecord): Promise<{ isThere: boolean; netns: string }> {
    try {
      const namespace = await this.namespaceOf(record);
      return { isThere: namespace !== undefined, netns: namespace?.path ?? '' };
    } catch {
      return { isThere: false, netns: record.namespace?.path ?? '' };
    }
  }

  private networkCalls(record: NetworkRecord, list: NetworkList, netns: string): NetworkCalls {
    return new NetworkCalls(this.plugins, list, attachmentOf(record, netns), record.portMappings);
  }

  private allocationNetwork({ status }: NetworkRecord, { path, sandbox }: Namespace): AllocationNetwork {
    return { namespace: path, ...(sandbox && { sandbox }), status, isReplacement: false };
  }

  private retryMs(): number {
    return RETRY_MIN_MS + this.deps.random() * RETRY_RANGE_MS;
  }

  /** Makes a network in its turn. The first network of a name, and the next after a failure, begins alone. */
  private makeInTurn(record: NetworkRecord, hostname: string): Promise<Omit<AllocationNetwork, 'isReplacement'>> {
    const name = record.list?.name;
    if (name === undefined) return this.runInTurn(record, () => this.makeOrUndo(record, hostname));
    const make = async (): Promise<Omit<AllocationNetwork, 'isReplacement'>> => {
      try {
        const made = await this.makeOrUndo(record, hostname);
        this.begunNetworks.add(name);
        return made;
      } catch (error) {
        this.begunNetworks.delete(name);
        throw error;
      }
    };
    return this.runInTurn(record, make, () => (this.begunNetworks.has(name) ? [] : [`network ${name}`]));
  }

  /** Runs a change of an allocation's network in its turn. @param more further keys of the change, see NetworkTurns */
  private runInTurn<T>(
    { allocId, portMappings }: NetworkRecord,
    work: () => Promise<T>,
    more: () => readonly string[] = () => [],
  ): Promise<T> {
    const own = [`allocation ${allocId}`, ...new Set(portMappings.map(({ hostPort }) => `port ${hostPort}`))];
    return this.turns.runInTurn(() => [...own, ...more()], work);
  }
}

/**
 * Returns the network without the plugin for the loopback interface, if the network is the agent's own. The interface
 * is up in a new namespace, and ends with it (NW-59).
 */
const withoutLoopback = ({ mode }: NetworkRecord, list: NetworkList): NetworkList =>
  mode === 'bridge' ? { ...list, plugins: list.plugins.filter(({ type }) => type !== 'loopback') } : list;

const attachmentOf = ({ allocId, args }: NetworkRecord, netns: string) => ({
  containerId: allocId,
  netns,
  ifName: INTERFACE,
  args,
});

const MISCONFIGURED =
  'failed to configure networking for alloc: network namespace already exists but was misconfigured';
const LEAKED = 'failed to cleanup network for allocation, resources may have leaked';

/** Maps each port for both protocols (NW-57). */
function mappingsOf(ports: readonly AllocatedPort[], bindsToAddress: boolean): PortMapping[] {
  return ports.flatMap(({ Value, To, HostIP }) =>
    (['tcp', 'udp'] as const).map((protocol) => ({
      hostPort: Value,
      containerPort: To > 0 ? To : Value,
      protocol,
      ...(bindsToAddress && HostIP !== '' && { hostIP: HostIP }),
    })),
  );
}
