import { NOT_ENABLED } from '../watching/deployment-watcher.js';
import { NotHolderError } from '@waybill/model';
import type { Term } from '@waybill/roles';
import type { Call, Regions } from '@waybill/rpc';

export interface Contact {
  calls: number;
  errors: number;
}

/**
 * Asks other regions, and counts how that goes (DP-1308). One per term. When that is over, or its lease has run out while
 * this process stood still, it asks nobody: what it knows of a rollout may be no more.
 */
export class PeerContacts {
  private readonly contacts = new Map<string, Contact>();

  constructor(
    private readonly regions: Regions,
    private readonly term: Pick<Term, 'isCurrent'>,
  ) {}

  of(region: string): Contact {
    let contact = this.contacts.get(region);
    if (!contact) this.contacts.set(region, (contact = { calls: 0, errors: 0 }));
    return contact;
  }

  /** @throws NotHolderError, RpcError, RpcUnavailableError, NoPathToRegionError */
  async ask<Req, Res>(region: string, call: Call<Req, Res>, request: Req): Promise<Res> {
    if (!this.term.isCurrent()) throw new NotHolderError(NOT_ENABLED);
    const contact = this.of(region);
    contact.calls++;
    try {
      return await this.regions.ask(region, call, request);
    } catch (error) {
      contact.errors++;
      throw error;
    }
  }
}
