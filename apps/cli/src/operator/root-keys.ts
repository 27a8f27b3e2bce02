import { CommandFailure, isInterrupt } from '../failure.js';
import { shortId } from '../terminal/short-id.js';
import { table } from '../terminal/table.js';
import { absoluteTime } from '../terminal/times.js';

export const KEYRING_PATH = '/v1/operator/keyring';

/** A root key as the API shows it. */
export interface RootKeyMeta {
  readonly KeyID: string;
  readonly State: string;
  /** Unix ns. */
  readonly CreateTime: number;
  /** Unix ns; 0: it never was prepublished. */
  readonly PublishTime: number;
}

export const VERBOSE_KEYS = { name: 'verbose', kind: 'switch', help: 'Show whole key IDs.' } as const;

/** Root keys, one a line (CL-809). */
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

/** The text of these commands begins in lower case, as their reference's does. */
export const keyringFailure = (cause: unknown): Error =>
  isInterrupt(cause) ? cause : new CommandFailure(`error: ${cause instanceof Error ? cause.message : String(cause)}`);
