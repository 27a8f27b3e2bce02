import { type AllocatedPort, type AllocNetworkStatus, errorText, type Timers } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';
import type { Gate } from '../waiting/gate.js';
import { pause } from '../waiting/gate.js';
import { type BridgeOptions, bridgeNetwork } from './cni/bridge-network.js';
import { CniPlugins } from './cni/cni-plugins.transport.js';
import { networkNamed } from './cni/configured-networks.store.js';
import { NetworkCalls, type NetworkList, type PortMapping } from './cni/network-list.js';
import { statusOf } from './cni/network-status.js';
import type { NetworkNamespaces } from './network-namespaces.store.js';
import type { NetworkRecord, NetworkRecords } from './network-record.js';
import type { RunProgram } from './program.transport.js';
import { ensureAdminChain } from './rules/admin-chain.js';
import type { Iptables } from './rules/iptables.transport.js';
import { removeLeftRules } from './rules/left-rules.js';

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
  /** Open when nobody wants it any more. */
  readonly givenUp: Gate;
}

/** The network that the tasks of an allocation have to themselves. */
export interface AllocationNetwork {
  /** Path of the namespace. */
  readonly namespace: string;
  /** null: it has no address (mode `none`). */
  readonly status: AllocNetworkStatus | null;
  /** The one before it was lost, so what still runs in that is cut off (NW-39). */
  readonly isReplacement: boolean;
}

export interface AllocationNetworksDependencies {
  readonly run: RunProgram;
  readonly namespaces: NetworkNamespaces;
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
    const before = kept && (await this.inTurn(() => this.takeUp(kept)));
    if (before && before !== 'gone' && before !== 'misconfigured') return before;
    const record = await this.begin(order);
    let first: unknown;
    for (let attempt = 1; attempt <= ADD_ATTEMPTS && !order.givenUp.isOpen; attempt++) {
      if (attempt > 1) await pause(this.deps.timers, this.retryMs(), order.givenUp);
      if (order.givenUp.isOpen) break;
      try {
        return { ...(await this.inTurn(() => this.makeOrUndo(record))), isReplacement: kept?.isReady === true };
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
    return kept?.isReady && (await this.deps.namespaces.exists(allocId)) ? this.asMade(kept) : null;
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
  private async takeUp(record: NetworkRecord): Promise<AllocationNetwork | 'gone' | 'misconfigured'> {
    const { allocId, result, list } = record;
    const isThere = record.isReady && (await this.deps.namespaces.exists(allocId));
    if (isThere && (!list || !result || !this.isChecked(list))) return this.asMade(record);
    if (isThere && list && result)
      try {
        await this.callsOf(record, list).check(result);
        return this.asMade(record);
      } catch (error) {
        this.deps.logger.warn('a network is not as it was made, and is made anew', { alloc: allocId, error });
      }
    await this.undo(record);
    return isThere ? 'misconfigured' : 'gone';
  }

  /** Whether the plugins of a network can say if a namespace is still as they made it (NW-37, NW-53). */
  private isChecked(list: NetworkList): boolean {
    return list.disableCheck !== true && list.plugins.every(({ type }) => this.deps.canCheck(type));
  }

  /** Nothing of the machine is changed yet. @throws NetworkError, when the machine lacks what the network needs */
  private async begin({ allocId, mode, ports, args }: NetworkOrder): Promise<NetworkRecord> {
    const list = await this.listOf(mode);
    return {
      version: 1,
      allocId,
      mode,
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

  private async makeOrUndo(begun: NetworkRecord): Promise<Omit<AllocationNetwork, 'isReplacement'>> {
    let record = begun;
    const keep = async (next: NetworkRecord): Promise<void> => {
      record = next;
      await this.deps.records.save(next);
    };
    try {
      await keep(begun);
      const { allocId, list, mode } = begun;
      await this.deps.namespaces.make(allocId);
      if (!this.deps.namespaces.raisesLoopback) await this.raiseLoopback(begun);
      if (mode === 'bridge') await ensureAdminChain(this.deps.iptables, this.deps.bridge);
      if (list) {
        const result = await this.callsOf(begun, list).add((found) => keep({ ...begun, result: found }));
        await keep({ ...begun, result, status: statusOf(result) });
      }
      await keep({ ...record, isReady: true });
      return this.asMade(record);
    } catch (error) {
      await this.undo(record);
      throw error;
    }
  }

  private async raiseLoopback(record: NetworkRecord): Promise<void> {
    if (record.list?.plugins.some(({ type }) => type === 'loopback')) return;
    const config = { type: 'loopback', name: 'loopback', cniVersion: '0.4.0' };
    await this.plugins.call('ADD', config, { ...this.attachmentOf(record), ifName: 'lo' });
  }

  /** All of it, whatever fails. What failed is logged, and its record stays, so that the next agent tries once more. */
  private async undo(record: NetworkRecord): Promise<void> {
    const { allocId, list } = record;
    const errors: string[] = [];
    if (list) {
      const isThere = await this.deps.namespaces.exists(allocId);
      const netns = isThere ? this.deps.namespaces.pathOf(allocId) : '';
      const failed = await this.callsOf(record, list, netns).del(record.result);
      // Without the namespace plugins take its rules for gone with it, and later ones would meet them.
      if (failed.length > 0 || !isThere)
        try {
          await removeLeftRules(this.deps.iptables, list.name, allocId);
        } catch (error) {
          failed.push(errorText(error));
        }
      errors.push(...failed);
    }
    try {
      await this.deps.namespaces.remove(allocId);
    } catch (error) {
      errors.push(errorText(error));
    }
    if (errors.length === 0) return this.deps.records.remove(allocId);
    this.deps.logger.error(LEAKED, { alloc: allocId, errors });
    await this.deps.records.save({ ...record, isReady: false });
  }

  private callsOf(record: NetworkRecord, list: NetworkList, netns?: string): NetworkCalls {
    const attachment = { ...this.attachmentOf(record), ...(netns !== undefined && { netns }) };
    return new NetworkCalls(this.plugins, list, attachment, record.portMappings);
  }

  private attachmentOf({ allocId, args }: NetworkRecord) {
    return { containerId: allocId, netns: this.deps.namespaces.pathOf(allocId), ifName: INTERFACE, args };
  }

  private asMade({ allocId, status }: NetworkRecord): AllocationNetwork {
    return { namespace: this.deps.namespaces.pathOf(allocId), status, isReplacement: false };
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
