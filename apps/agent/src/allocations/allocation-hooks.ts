import type { AllocationContext } from './allocation-context.js';
import type { AllocationHook } from './allocation-hook.js';
import type { AllocationTasks } from './allocation-tasks.js';
import { AddressHook } from './hooks/address.hook.js';
import { AwaitPreviousAllocationsHook } from './hooks/await-previous-allocations.hook.js';
import { CsiHook } from './hooks/csi.hook.js';
import { GroupServicesHook } from './hooks/group-services.hook.js';
import { IdentitiesHook } from './hooks/identities.hook.js';
import { HealthHook } from './hooks/health.hook.js';
import { MaxRunDurationHook } from './hooks/max-run-duration.hook.js';
import { MigrateDiskHook } from './hooks/migrate-disk.hook.js';
import { NetworkHook } from './hooks/network.hook.js';
import { ServicesHook } from './hooks/services.hook.js';

/**
 * Returns the hooks of an allocation in the order in which they run (AG-80), each with its rules. A new hook needs one
 * file in hooks/ and one line here.
 */
export function allocationHooks(context: AllocationContext, tasks: AllocationTasks): readonly AllocationHook[] {
  const services = new ServicesHook(context, tasks);
  return [
    new AddressHook(context, tasks), // fails an allocation whose address the machine has lost (NW-157)
    new IdentitiesHook(context, tasks), // does nothing for an allocation without identities (AU-151 to AU-155)
    services, // precedes the hooks that read services: health and group services (AG-140 to AG-147)
    new MaxRunDurationHook(context), // ends an expired allocation (AG-77)
    new HealthHook(context, tasks, services), // judges the allocation for its deployment (AG-120 to AG-132)
    new AwaitPreviousAllocationsHook(context, tasks), // waits for the end of the replaced allocations (AG-53)
    new MigrateDiskHook(context, tasks), // takes over the disk of the previous allocation (AG-224)
    new NetworkHook(context, tasks), // creates the network namespace (NW-31 to NW-43)
    new CsiHook(context, tasks), // claims and mounts volumes (VL-220 to VL-232)
    new GroupServicesHook(context, tasks, services), // comes last, because tasks start after it (AG-141)
  ];
}
