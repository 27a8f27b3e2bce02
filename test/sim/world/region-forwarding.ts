import { Refusal } from '@waybill/model';
import { isUnreachable } from '@waybill/rpc';
import type { RegionLink } from './region-link.js';
import type { Server } from './server.js';
import type { UserApi, Written } from './user-api.js';

/** A user waits this long for an answer from another region, milliseconds. */
const PATIENCE_MS = 40_000;

/** What a user asks of an API; undefined: there is nothing to ask now. */
export type Request = (api: UserApi) => Promise<Written> | undefined;

const noPath = (): Refusal => new Refusal('internal', 'No path to region');

/**
 * A request that an API of one region takes for another (API-43): the address there is asked for over NATS, as the real
 * one does; of HTTP there is only the way there and the way back, each of which may be cut.
 * @throws Refusal no path to the region: it may have been carried out or not; what the API there refused
 */
export async function passOn(
  from: Server,
  link: RegionLink,
  servers: readonly Server[],
  request: Request,
): Promise<Written> {
  const { running: process, userApi } = from;
  if (!process || !userApi) throw noPath();
  const address = await userApi.addressIn(link.far.region).catch((error: unknown) => {
    throw isUnreachable(error) ? noPath() : error;
  });
  return new Promise((resolve, reject) => {
    process.after(PATIENCE_MS, () => reject(noPath()));
    link.toNats(process, 'request', () => {
      const api = servers.find(({ name }) => name === address)?.userApi;
      if (!api) return;
      const answer = request(api) ?? Promise.resolve({ Index: 0 });
      const back = (take: () => void): void => link.toProcess(process, 'answer', take);
      answer.then(
        (written) => back(() => resolve(written)),
        (error: unknown) => back(() => reject(error instanceof Error ? error : new Error(String(error)))),
      );
    });
  });
}
