import { forceGc, reached, type Rpc } from '@waybill/rpc';

/** What the API asks of the holder of the broker role. */
export class BrokerInquiry {
  /** @param rpc that waits for a holder, as a user does (API-39) */
  constructor(private readonly rpc: Rpc) {}

  /**
   * Whether it hands out evaluations.
   * @param index what the holder must have applied, and obeys, before it answers
   * @throws RpcUnavailableError nobody holds the role, or the holder does not get that far
   */
  async enabledAt(index: number): Promise<boolean> {
    return (await this.rpc.ask(reached, { Index: index })).Enabled;
  }

  /** Has everything collected that may go; answered when it is on its way (EB-147). @throws RpcUnavailableError */
  async forceGc(): Promise<void> {
    await this.rpc.ask(forceGc, null);
  }
}
