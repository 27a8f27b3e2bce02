import { createHash } from 'node:crypto';
import type { ServiceRegistration } from '@waybill/model';
import { badRequest } from '../http/api-error.js';
import { param, type QueryString } from '../http/query-string.js';

/** ServiceChoice is the parameter `choose=<n>|<key>`: the number of services, and the key for which they are chosen. */
export class ServiceChoice {
  private constructor(
    private readonly count: number,
    private readonly key: string,
  ) {}

  /** Returns the choice, or undefined if the request has none. @throws Refusal invalid */
  static of(query: QueryString): ServiceChoice | undefined {
    const text = param(query, 'choose');
    if (text === undefined || text === '') return undefined;
    const found = /^([1-9]\d{0,8})\|(.+)$/s.exec(text);
    if (!found?.[1] || !found[2]) throw badRequest('choose must be of the form <number>|<key>');
    return new ServiceChoice(Number(found[1]), found[2]);
  }

  /**
   * Chooses services. The choice is the same for the same key, and changes little when services come or go, because a
   * hash of the key and its ID places each service. O(n log n).
   */
  from(services: readonly ServiceRegistration[]): ServiceRegistration[] {
    const lots = services.map((service) => ({ service, lot: this.lotOf(service) }));
    return lots
      .toSorted((a, b) => (a.lot < b.lot ? -1 : 1))
      .slice(0, this.count)
      .map(({ service }) => service);
  }

  private lotOf({ ID }: ServiceRegistration): string {
    return createHash('sha256').update(`${this.key}\n${ID}`).digest('hex');
  }
}
