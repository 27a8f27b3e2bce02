import { createHash } from 'node:crypto';
import type { ServiceRegistration } from '@waybill/model';
import { badRequest } from '../http/api-error.js';
import { param, type QueryString } from '../http/query-string.js';

/** `choose=<n>|<key>`: how many, and for whom. */
export class ServiceChoice {
  private constructor(
    private readonly count: number,
    private readonly key: string,
  ) {}

  /** Undefined when the request has none. @throws Refusal invalid */
  static of(query: QueryString): ServiceChoice | undefined {
    const text = param(query, 'choose');
    if (text === undefined || text === '') return undefined;
    const found = /^([1-9]\d{0,8})\|(.+)$/s.exec(text);
    if (!found?.[1] || !found[2]) throw badRequest('choose must be of the form <number>|<key>');
    return new ServiceChoice(Number(found[1]), found[2]);
  }

  /** The same for the same key, and nearly the same when some come or go: each is drawn by its own lot. O(n log n). */
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
