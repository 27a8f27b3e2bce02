import { NOT_ENABLED } from '../watching/deployment-watcher.js';
import { NotHolderError } from '@waybill/model';
import type { Term } from '@waybill/roles';
import type { Call, Regions } from '@waybill/rpc';

export interface Contact {
  calls: number;
  errors: number;
}

/**
 * Calls other regions, and counts the outcomes (DP-1308). One instance for each term. When the term is over, or its
 * lease expired while this process was suspended, it makes no call: its knowledge of a rollout may be outdated.
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
  async callPeer<Req, Res>(region: string, call: Call<Req, Res>, request: Req): Promise<Res> {
    if (!this.term.isCurrent()) throw new NotHolderError(NOT_ENABLED);
    const contact = this.of(region);
    contact.calls++;
    try {
      return await this.regions.askRegion(region, call, request);
    } catch (error) {
      contact.errors++;
      throw error;
    }
  }
}
