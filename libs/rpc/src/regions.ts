import { type AskOptions, type Call, RpcUnavailableError } from './call.js';

/** The region is unknown here. Clients match the text (API-43). */
export class NoPathToRegionError extends Error {
  override readonly name = 'NoPathToRegionError';
  constructor(readonly region: string) {
    super('No path to region');
  }
}

/** The federated regions. Each is a complete Waybill with its own log. They share no state and only call each other. */
export interface Regions {
  readonly own: string;
  /** The names of all regions including this one, sorted. */
  readonly names: readonly string[];
  /**
   * Calls another region. It does not wait for a region that is known to be unreachable.
   * @throws NoPathToRegionError if the region is none of `names`
   * @throws RpcUnavailableError if it cannot be reached, the role has no holder there, or the call timed out
   * @throws RpcError if the region refused or failed
   */
  askRegion<Req, Res>(region: string, call: Call<Req, Res>, request: Req, options?: AskOptions): Promise<Res>;
}

/** A region without peers. */
export function regionAlone(own: string): Regions {
  return { own, names: [own], askRegion: (region) => Promise.reject(new NoPathToRegionError(region)) };
}

/** Whether a region could not be reached. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof NoPathToRegionError || error instanceof RpcUnavailableError;
}
