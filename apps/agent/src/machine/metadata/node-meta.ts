import type { NodeMetaResponse } from '@waybill/rpc';

/** A key is identifiers with dots between, so that constraints can name it. */
const KEY = /^[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*$/;

/** Keys and values together, bytes of JSON: they are part of the node, which everybody who places work holds. */
export const MAX_DYNAMIC_META_BYTES = 64 * 1024;

export type DynamicMeta = Readonly<Record<string, string | null>>;

/** Where what was set while the agent ran is kept. */
export interface DynamicMetaStore {
  load(): Promise<DynamicMeta>;
  save(dynamic: DynamicMeta): Promise<void>;
}

/** The given metadata is invalid (AG-332). The caller gets the message. */
export class InvalidMetaError extends Error {
  override readonly name = 'InvalidMetaError';
}

/**
 * The metadata of this machine (AG-27): what it is configured with, and over that what was set while it ran, which
 * outlives the agent. One change at a time; it counts once it is on disk.
 */
export class NodeMeta {
  private last: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly configured: Readonly<Record<string, string>>,
    private dynamic: DynamicMeta,
    private readonly store: DynamicMetaStore,
  ) {}

  static async load(configured: Readonly<Record<string, string>>, store: DynamicMetaStore): Promise<NodeMeta> {
    return new NodeMeta(configured, await store.load(), store);
  }

  /** What counts. */
  get merged(): Record<string, string> {
    const all = Object.entries({ ...this.configured, ...this.dynamic });
    return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== null));
  }

  readMeta(): NodeMetaResponse {
    return { Meta: this.merged, Dynamic: this.dynamic, Static: this.configured };
  }

  /** @throws InvalidMetaError, whatever the disk fails with; nothing has changed then */
  apply(changes: DynamicMeta): Promise<NodeMetaResponse> {
    const done = this.last.then(() => this.change(changes));
    this.last = done.catch(() => undefined);
    return done;
  }

  private async change(changes: DynamicMeta): Promise<NodeMetaResponse> {
    for (const key of Object.keys(changes))
      if (!KEY.test(key)) throw new InvalidMetaError(`invalid metadata key: ${JSON.stringify(key)}`);
    // A key that is only dynamic is forgotten; one of the configuration has to be remembered as taken away.
    const changed = Object.entries({ ...this.dynamic, ...changes });
    const dynamic = Object.fromEntries(
      changed.filter(([key, value]) => value !== null || Object.hasOwn(this.configured, key)),
    );
    if (Buffer.byteLength(JSON.stringify(dynamic)) > MAX_DYNAMIC_META_BYTES)
      throw new InvalidMetaError(`node metadata is larger than ${MAX_DYNAMIC_META_BYTES} bytes`);
    await this.store.save(dynamic);
    this.dynamic = dynamic;
    return this.readMeta();
  }
}
