import { isClientTerminal, type Allocation } from '@waybill/model';
import { compareText } from './row-order.js';
import { namespacedKey } from './tables.js';
import type { Write } from './write.js';

/** An allocation that ended offers no services, whoever said that it ended (ST-107). */
export function dropServicesIfEnded(w: Write, alloc: Pick<Allocation, 'ID' | 'ClientStatus'>): void {
  if (isClientTerminal(alloc)) dropServices(w, alloc.ID);
}

/** Deletes an allocation and its service registrations; false if there was none (ST-96). */
export function removeAllocation(w: Write, allocId: string): boolean {
  if (!w.remove('allocs', allocId)) return false;
  dropServices(w, allocId);
  return true;
}

function dropServices(w: Write, allocId: string): void {
  if (w.tables.service_registrations.count('alloc', allocId) === 0) return;
  const services = [...w.tables.service_registrations.by('alloc', allocId)];
  for (const service of services.toSorted((a, b) => compareText(a.ID, b.ID)))
    w.remove('service_registrations', namespacedKey(service.Namespace, service.ID));
}
