import type { Call, Regions } from '@waybill/rpc';

export interface Contact {
  calls: number;
  errors: number;
}

/** Asks other regions, and counts how that goes (DP-1308). */
export class PeerContacts {
  private readonly contacts = new Map<string, Contact>();

  constructor(private readonly regions: Regions) {}

  of(region: string): Contact {
    let contact = this.contacts.get(region);
    if (!contact) this.contacts.set(region, (contact = { calls: 0, errors: 0 }));
    return contact;
  }

  /** @throws RpcError, RpcUnavailableError, NoPathToRegionError */
  async ask<Req, Res>(region: string, call: Call<Req, Res>, request: Req): Promise<Res> {
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
