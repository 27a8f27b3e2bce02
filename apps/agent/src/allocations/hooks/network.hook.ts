import { type DNSConfig, isDnsName, type NetworkResource } from '@waybill/model';
import { networkIsolationOf } from '../../drivers/driver.js';
import { type AllocationNetwork, NetworkError } from '../../networks/allocation-networks.js';
import { cniArgs } from '../../networks/cni/cni-args.js';
import { TaskEnv } from '../../tasks/task-env.js';
import type { AllocationContext } from '../allocation-context.js';
import { type AllocationHook, CLOSED, type HookRecord } from '../allocation-hook.js';
import type { AllocationTasks } from '../allocation-tasks.js';
import type { AllocationRecord } from '../records/allocation-record.js';

/**
 * NetworkHook makes the network namespace of an allocation before its tasks start, and removes it after the last one
 * (NW-31).
 *
 * States: idle → making → made → released. If the allocation ends during the making, the namespace is completed or
 * given up first, and then released. After a restart, the agent finds an existing namespace again.
 */
export class NetworkHook implements AllocationHook {
  readonly name = 'network';
  private making: Promise<unknown> = Promise.resolve();
  private released: Promise<void> | undefined;

  constructor(
    private readonly context: AllocationContext,
    private readonly tasks: AllocationTasks,
  ) {}

  /** Restores the recorded network. It counts until prerun has checked the machine. */
  restore({ network }: AllocationRecord): void {
    this.context.network = network ?? null;
  }

  record(): HookRecord {
    return { network: this.context.network };
  }

  /** Prepares the network. @throws NetworkError */
  async prerun(): Promise<typeof CLOSED | void> {
    const { context } = this;
    const networks = context.agent.networks;
    const asked = context.group.Networks?.[0];
    const mode = asked?.Mode || 'host';
    if (!asked || mode === 'host') return this.refuseHostname(asked);
    if (!networks) return undefined;
    if (context.isStopping || this.tasks.areDead) {
      // Only poststop tasks may still start. They run where the others ran.
      if (!(await networks.find(context.id))) context.network = null;
      return undefined;
    }
    this.refuseDrivers(mode, asked.Hostname !== '');
    const { hostname, dns, args } = this.interpolateNetwork(asked);
    const ports = context.alloc.AllocatedResources.Shared.Ports ?? [];
    this.tasks.setWaitReason('Waiting for its network');
    const made = networks.prepare({
      allocId: context.id,
      mode,
      ports,
      args,
      maker: this.namespaceDriver(),
      hostname,
      givenUp: context.ended,
    });
    this.making = made.catch(() => {});
    const network = await made;
    if (!network) return CLOSED;
    this.useNetwork(network, hostname, dns);
    return undefined;
  }

  postrun(): Promise<void> {
    return this.releaseNetwork();
  }

  destroy(): Promise<void> {
    return this.releaseNetwork();
  }

  private releaseNetwork(): Promise<void> {
    const { id, group, agent } = this.context;
    if ((group.Networks?.[0]?.Mode || 'host') === 'host') return Promise.resolve();
    this.released ??= this.making.then(() => agent.networks?.release(id));
    return this.released;
  }

  /**
   * Sets the network of the context.
   * @param dns the settings of the group, which win over those of the plugins (NW-91)
   */
  private useNetwork(
    { namespace, sandbox, status, isReplacement }: AllocationNetwork,
    hostname: string,
    dns: DNSConfig | null,
  ): void {
    const shown = status && { ...status, DNS: dns ?? status.DNS };
    this.context.network = { namespace, hostname, status: shown, ...(sandbox && { sandbox }) };
    // Tasks that still run in the old namespace have no connection (NW-39).
    if (isReplacement) void this.tasks.restartRunning('network namespace was recreated');
  }

  /** Refuses a hostname in the mode `host` (NW-26). @throws NetworkError */
  private refuseHostname(network: NetworkResource | undefined): void {
    if (network && network.Hostname !== '')
      throw new NetworkError('hostname cannot be set on task group using "host" networking mode');
  }

  /** Refuses drivers that do not support the network mode or a hostname (NW-22, NW-26). @throws NetworkError */
  private refuseDrivers(mode: string, isNamed: boolean): void {
    for (const { Name, Driver } of this.context.group.Tasks) {
      const driver = this.context.agent.drivers.get(Driver);
      if (isNamed && driver?.setsHostname !== true)
        throw new NetworkError(`hostname is not currently supported on driver ${Driver}`);
      if (driver && !networkIsolationOf(driver).includes('group'))
        throw new NetworkError(`task ${Name} does not support "${mode}" networking mode`);
    }
  }

  /**
   * Returns the one driver of the group that makes the namespace (NW-23), or an empty text if the agent makes it.
   * @throws NetworkError
   */
  private namespaceDriver(): string {
    const makers = this.context.group.Tasks.filter(({ Driver }) => this.context.agent.drivers.get(Driver)?.namespaces);
    const [first] = makers;
    const other = makers.find(({ Driver }) => Driver !== first?.Driver);
    if (first && other)
      throw new NetworkError(
        `tasks ${first.Name} and ${other.Name} want to initiate networking but only one driver can do so`,
      );
    return first?.Driver ?? '';
  }

  /** Interpolates the network's settings. @throws NetworkError */
  private interpolateNetwork(network: NetworkResource): { hostname: string; dns: DNSConfig | null; args: string } {
    const { agent, alloc, job } = this.context;
    const { region, hostEnv, logger } = agent;
    const env = new TaskEnv({ alloc, job, task: null, node: agent.node(), region, paths: null, hostEnv });
    const hostname = env.interpolate(network.Hostname);
    if (hostname !== '' && !isDnsName(hostname))
      throw new NetworkError(`network hostname "${hostname}" is not a valid DNS name`);
    const { args, leftOut } = cniArgs(alloc, region, env.interpolateAll(network.CNI?.Args ?? {}));
    if (leftOut.length > 0) logger.warn('arguments of CNI hold a ";" and are left out', { alloc: alloc.ID, leftOut });
    return { hostname, dns: env.interpolateAll(network.DNS) as DNSConfig | null, args };
  }
}
