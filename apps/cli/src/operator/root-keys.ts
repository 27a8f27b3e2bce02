import { CommandFailure, isInterrupt } from '../failure.js';
import { shortId } from '../terminal/short-id.js';
import { table } from '../terminal/table.js';
import { absoluteTime } from '../terminal/times.js';

export const KEYRING_PATH = '/v1/operator/keyring';

/** A root key in a response of the API. */
export interface RootKeyMeta {
  readonly KeyID: string;
  readonly State: string;
  /** In unix ns. */
  readonly CreateTime: number;
  /** In unix ns. 0 if the key was never prepublished. */
  readonly PublishTime: number;
}

export const VERBOSE_KEYS = { name: 'verbose', kind: 'switch', help: 'Show whole key IDs.' } as const;

/** Lists root keys, one per line (CL-809). */
export const rootKeyTable = (keys: readonly RootKeyMeta[], verbose: boolean): string =>
  table([
    ['Key', 'State', 'Create Time', 'Publish Time'],
    ...keys.map(({ KeyID, State, CreateTime, PublishTime }) => [
      shortId(KeyID, verbose),
      State,
      absoluteTime(CreateTime),
      absoluteTime(PublishTime) || '<none>',
    ]),
  ]);

/** Errors of these commands start in lower case, as in the reference. */
export const keyringFailure = (cause: unknown): Error =>
  isInterrupt(cause) ? cause : new CommandFailure(`error: ${cause instanceof Error ? cause.message : String(cause)}`);
