import { isClientTerminal, type Allocation, type ServiceRegistration } from '@waybill/model';
import { compareText } from '../machine/row-order.js';
import { namespacedKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/** Deletes the service registrations of an allocation that has ended, whoever reported the end (ST-107). */
export function dropServicesIfEnded(w: Write, alloc: Pick<Allocation, 'ID' | 'ClientStatus'>): void {
  if (isClientTerminal(alloc)) dropServices(w, alloc.ID);
}

/** Deletes an allocation and its service registrations; false if there was none (ST-96). */
export function removeAllocation(w: Write, allocId: string): boolean {
  if (!w.remove('allocs', allocId)) return false;
  dropServices(w, allocId);
  return true;
}

/** Deletes registrations in an order that is the same in every copy of the state. */
export function dropRegistrations(w: Write, registrations: Iterable<ServiceRegistration>): void {
  for (const service of [...registrations].toSorted((a, b) => compareText(a.ID, b.ID)))
    w.remove('service_registrations', namespacedKey(service.Namespace, service.ID));
}

function dropServices(w: Write, allocId: string): void {
  if (w.tables.service_registrations.count('alloc', allocId) === 0) return;
  dropRegistrations(w, w.tables.service_registrations.by('alloc', allocId));
}
