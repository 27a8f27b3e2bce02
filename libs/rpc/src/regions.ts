import { type AskOptions, type Call, RpcUnavailableError } from './call.js';

/** A region this one knows nothing of. Clients match the text (API-43). */
export class NoPathToRegionError extends Error {
  override readonly name = 'NoPathToRegionError';
  constructor(readonly region: string) {
    super('No path to region');
  }
}

/** The regions that know each other. Each is a complete Waybill with its own log; they share nothing and only ask. */
export interface Regions {
  readonly own: string;
  /** All of them, this one too, sorted. */
  readonly names: readonly string[];
  /**
   * Asks another region. Never waits for one that is known to be unreachable.
   * @throws NoPathToRegionError it is none of `names`
   * @throws RpcUnavailableError it cannot be reached, nobody there holds the role, or it is too slow
   * @throws RpcError what it refused or failed with
   */
  askRegion<Req, Res>(region: string, call: Call<Req, Res>, request: Req, options?: AskOptions): Promise<Res>;
}

/** A region without others. */
export function regionAlone(own: string): Regions {
  return { own, names: [own], askRegion: (region) => Promise.reject(new NoPathToRegionError(region)) };
}

/** Why a region has not answered, for people. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof NoPathToRegionError || error instanceof RpcUnavailableError;
}
