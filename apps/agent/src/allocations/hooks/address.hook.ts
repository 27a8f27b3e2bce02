import { networkInterfaces } from 'node:os';
import type { AllocationContext } from '../allocation-context.js';
import type { AllocationHook } from '../allocation-hook.js';
import type { AllocationTasks } from '../allocation-tasks.js';
import { lostAddress } from './lost-address.js';

/**
 * AddressHook fails an allocation whose ports are on an address that this machine does not have any more: its tasks and
 * their clients know only the old one (NW-157). The scheduler places it anew, on a present address. Stateless.
 */
export class AddressHook implements AllocationHook {
  readonly name = 'address';

  constructor(
    private readonly context: AllocationContext,
    private readonly tasks: AllocationTasks,
  ) {}

  /** @throws Error that names the address */
  prerun(): void {
    if (this.context.isStopping || this.tasks.areDead) return;
    const address = lostAddress(this.context.alloc, addressesOfMachine());
    if (address !== undefined)
      throw new Error(`its ports are on the address ${address}, which this machine does not have any more`);
  }
}

/** Returns the addresses of the machine except those that it has in itself only. */
const addressesOfMachine = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal }) => !internal)
    .map(({ address }) => address);
