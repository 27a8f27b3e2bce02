import { type AllocatedPort, type AllocNetworkStatus, errorText, type Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { Gate } from '../waiting/gate.js';
import { pause } from '../waiting/gate.js';
import { type BridgeOptions, bridgeNetwork } from './cni/bridge-network.js';
import { CniPlugins } from './cni/cni-plugins.transport.js';
import { networkNamed } from './cni/configured-networks.store.js';
import { NetworkCalls, type NetworkList, type PortMapping } from './cni/network-list.js';
import { statusOf } from './cni/network-status.js';
import { type Namespace, NamespaceUnknownError, type NetworkNamespaces } from './network-namespaces.store.js';
import type { NetworkRecord, NetworkRecords } from './network-record.js';
import type { RunProgram } from './program.transport.js';
import { ensureAdminChain } from './rules/admin-chain.js';
import type { Iptables } from './rules/iptables.transport.js';
import { removeLeftRules } from './rules/left-rules.js';
import type { Sandbox } from './task-network.js';

/** How often an allocation's network is tried to be made, and how long is waited in between (NW-45). */
export const ADD_ATTEMPTS = 3;
export const RETRY_MIN_MS = 1_000;
const RETRY_RANGE_MS = 1_000;

/** The interface of a task's namespace that leads out of it. */
const INTERFACE = 'eth0';
const CNI_PREFIX = 'cni/';

/** What an allocation wants of its network. */
export interface NetworkOrder {
  readonly allocId: string;
  /** `none`, `bridge`, `cni/<name>` */
  readonly mode: string;
  readonly ports: readonly AllocatedPort[];
  /** Of CNI (NW-58). */
  readonly args: string;
  /** The driver that makes its namespace (NW-23); empty: the agent does. */
  readonly maker: string;
  /** Empty: none is given. */
  readonly hostname: string;
  /** Open when nobody wants it any more. */
  readonly givenUp: Gate;
}

/** The network that the tasks of an allocation have to themselves. */
export interface AllocationNetwork {
  /** Path of the namespace. */
  readonly namespace: string;
  /** Absent: no container holds the namespace. */
  readonly sandbox?: Sandbox;
  /** null: it has no address (mode `none`). */
  readonly status: AllocNetworkStatus | null;
  /** The one before it was lost, so what still runs in that is cut off (NW-39). */
  readonly isReplacement: boolean;
}

export interface AllocationNetworksDependencies {
  readonly run: RunProgram;
  /** Those that the agent makes. */
  readonly namespaces: NetworkNamespaces;
  /** Those that drivers make themselves, by the name of the driver; absent: no driver does. */
  readonly namespacesOfDrivers?: ReadonlyMap<string, NetworkNamespaces>;
  readonly records: NetworkRecords;
  readonly iptables: Iptables;
  readonly timers: Timers;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly bridge: BridgeOptions;
  /** Where plugins are looked for, the first directory that has one wins (NW-51). */
  readonly pluginDirectories: readonly string[];
  readonly configDirectory: string;
  /** Ports are mapped on the address that the scheduler chose; false: on all addresses of the machine (NW-57). */
  readonly bindsToAddress: boolean;
  /** Whether a plugin of this name looks after itself by CHECK (NW-53). */
  readonly canCheck: (plugin: string) => boolean;
}

/** The network of an allocation cannot be made: the reason is what people see (AG-81). */
export class NetworkError extends Error {
  override readonly name = 'NetworkError';
}

/**
 * Networks of the allocations on this machine: namespaces, what the plugins make in them, and rules (section 3 of the
 * contract for networks).
 *
 * An allocation's network is: absent → begun (it has a record) → ready → absent. A record of one that is begun and not
 * ready tells that an agent ended in the middle: what there is of it is taken down, and it is made anew. Whatever fails
 * in between is taken down as well, so that an allocation that cannot have its network leaves nothing behind (NW-43).
 *
 * Changes of the machine are made one at a time (NW-45), because plugins of two allocations would change the same rules;
 * between two attempts others have their turn. Cost of one network: a process for the namespace, one for the admin chain
 * and one for each plugin. Memory: nothing that lasts.
 */
export class AllocationNetworks {
  private readonly plugins: CniPlugins;
  private turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly deps: AllocationNetworksDependencies) {
    this.plugins = new CniPlugins(deps.run, deps.pluginDirectories);
  }

  /**
   * Makes the network of an allocation, or finds it as an earlier agent has made it (NW-31, NW-37).
   * @returns null: it was given up @throws NetworkError
   */
  async prepare(order: NetworkOrder): Promise<AllocationNetwork | null> {
    const kept = await this.deps.records.load(order.allocId);
    const there = kept && (await this.whenKnown(kept, order.givenUp));
    if (there === 'given up') return null;
    const before = kept && (await this.inTurn(() => this.takeUp(kept, there ?? undefined)));
    if (before && before !== 'gone' && before !== 'misconfigured') return before;
    const record = await this.begin(order);
    let first: unknown;
    for (let attempt = 1; attempt <= ADD_ATTEMPTS && !order.givenUp.isOpen; attempt++) {
      if (attempt > 1) await pause(this.deps.timers, this.retryMs(), order.givenUp);
      if (order.givenUp.isOpen) break;
      try {
        // Others need not wait for an image to come, so it is not part of the turn.
        await this.makerOf(record).provide?.(order.allocId);
        const made = await this.inTurn(() => this.makeOrUndo(record, order.hostname));
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

  /** What is there although no task may start any more: an allocation that is stopped may have tasks that run. */
  async find(allocId: string): Promise<AllocationNetwork | null> {
    const kept = await this.deps.records.load(allocId);
    if (!kept?.isReady) return null;
    try {
      const namespace = await this.namespaceOf(kept);
      return namespace ? this.asMade(kept, namespace) : null;
    } catch (error) {
      if (error instanceof NamespaceUnknownError && kept.namespace) return this.asMade(kept, kept.namespace);
      throw error;
    }
  }

  /** Takes the network of an allocation down, if it has one (NW-41). Never rejects: what fails is logged. */
  async release(allocId: string): Promise<void> {
    try {
      const record = await this.deps.records.load(allocId);
      if (record) await this.inTurn(() => this.undo(record));
    } catch (error) {
      this.deps.logger.error(LEAKED, { alloc: allocId, error });
    }
  }

  /** Takes down what an earlier agent left of allocations that are not known any more (NW-44). Never rejects. */
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

  /** Of one that an earlier agent made. @returns why it has to be made anew: nothing is left of it */
  private async takeUp(
    record: NetworkRecord,
    namespace: Namespace | undefined,
  ): Promise<AllocationNetwork | 'gone' | 'misconfigured'> {
    const { allocId, result, list } = record;
    const there = record.isReady ? namespace : undefined;
    if (there && (!list || !result || !this.isChecked(list))) return this.asMade(record, there);
    if (there && list && result)
      try {
        await this.callsOf(record, list, there.path).check(result);
        return this.asMade(record, there);
      } catch (error) {
        this.deps.logger.warn('a network is not as it was made, and is made anew', { alloc: allocId, error });
      }
    await this.undo(record);
    return there ? 'misconfigured' : 'gone';
  }

  /** The namespace of a network. While its holder does not answer it is asked again: what runs must not be taken down. */
  private async whenKnown(record: NetworkRecord, givenUp: Gate): Promise<Namespace | undefined | 'given up'> {
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
   * The namespace as it was made; undefined: it is gone, even if another one has its name: a pause container that the
   * engine starts again has a new one. @throws NamespaceUnknownError
   */
  private async namespaceOf(record: NetworkRecord): Promise<Namespace | undefined> {
    const found = await this.makerOf(record).find(record.allocId);
    return record.namespace && found?.path !== record.namespace.path ? undefined : found;
  }

  /** @throws NetworkError */
  private makerOf({ maker = '' }: NetworkRecord): NetworkNamespaces {
    const found = maker === '' ? this.deps.namespaces : this.deps.namespacesOfDrivers?.get(maker);
    if (!found) throw new NetworkError(`the driver ${maker} makes no namespaces on this machine`);
    return found;
  }

  /** Whether the plugins of a network can say if a namespace is still as they made it (NW-37, NW-53). */
  private isChecked(list: NetworkList): boolean {
    return list.disableCheck !== true && list.plugins.every(({ type }) => this.deps.canCheck(type));
  }

  /** Nothing of the machine is changed yet. @throws NetworkError, when the machine lacks what the network needs */
  private async begin({ allocId, mode, ports, args, maker }: NetworkOrder): Promise<NetworkRecord> {
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
    const keep = async (next: NetworkRecord): Promise<void> => {
      record = next;
      await this.deps.records.save(next);
    };
    try {
      await keep(begun);
      const { allocId, list, mode } = begun;
      const maker = this.makerOf(begun);
      const namespace = await maker.make(allocId, hostname);
      await keep({ ...begun, namespace });
      if (!maker.raisesLoopback) await this.raiseLoopback(begun, namespace.path);
      if (mode === 'bridge') await ensureAdminChain(this.deps.iptables, this.deps.bridge);
      if (list) {
        const calls = this.callsOf(begun, list, namespace.path);
        const result = await calls.add((found) => keep({ ...record, result: found }));
        await keep({ ...record, result, status: statusOf(result) });
      }
      await keep({ ...record, isReady: true });
      return this.asMade(record, namespace);
    } catch (error) {
      await this.undo(record);
      throw error;
    }
  }

  private async raiseLoopback(record: NetworkRecord, netns: string): Promise<void> {
    if (record.list?.plugins.some(({ type }) => type === 'loopback')) return;
    const config = { type: 'loopback', name: 'loopback', cniVersion: '0.4.0' };
    await this.plugins.call('ADD', config, { ...attachmentOf(record, netns), ifName: 'lo' });
  }

  /** All of it, whatever fails. What failed is logged, and its record stays, so that the next agent tries once more. */
  private async undo(record: NetworkRecord): Promise<void> {
    const { allocId, list } = record;
    const errors: string[] = [];
    if (list) {
      const { isThere, netns } = await this.wayInto(record);
      const failed = await this.callsOf(record, list, netns).del(record.result);
      // Without the namespace plugins take its rules for gone with it, and later ones would meet them.
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

  /** For plugins that take a network down: what nobody can tell of is tried by its path, and its rules by hand. */
  private async wayInto(record: NetworkRecord): Promise<{ isThere: boolean; netns: string }> {
    try {
      const namespace = await this.namespaceOf(record);
      return { isThere: namespace !== undefined, netns: namespace?.path ?? '' };
    } catch {
      return { isThere: false, netns: record.namespace?.path ?? '' };
    }
  }

  private callsOf(record: NetworkRecord, list: NetworkList, netns: string): NetworkCalls {
    return new NetworkCalls(this.plugins, list, attachmentOf(record, netns), record.portMappings);
  }

  private asMade({ status }: NetworkRecord, { path, sandbox }: Namespace): AllocationNetwork {
    return { namespace: path, ...(sandbox && { sandbox }), status, isReplacement: false };
  }

  private retryMs(): number {
    return RETRY_MIN_MS + this.deps.random() * RETRY_RANGE_MS;
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => {});
    return done;
  }
}

const attachmentOf = ({ allocId, args }: NetworkRecord, netns: string) => ({
  containerId: allocId,
  netns,
  ifName: INTERFACE,
  args,
});

const MISCONFIGURED =
  'failed to configure networking for alloc: network namespace already exists but was misconfigured';
const LEAKED = 'failed to cleanup network for allocation, resources may have leaked';

/** Each port for both protocols (NW-57). */
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
