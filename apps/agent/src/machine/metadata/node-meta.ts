import type { NodeMetaResponse } from '@waybill/rpc';

/** A key consists of identifiers with dots between them, so that constraints can name it. */
const KEY = /^[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*$/;

/**
 * The largest size of keys and values together, in bytes of JSON. Metadata is part of the node, which every scheduler
 * holds in memory.
 */
export const MAX_DYNAMIC_META_BYTES = 64 * 1024;

export type DynamicMeta = Readonly<Record<string, string | null>>;

/** DynamicMetaStore keeps the metadata that was set while the agent ran. */
export interface DynamicMetaStore {
  load(): Promise<DynamicMeta>;
  save(dynamic: DynamicMeta): Promise<void>;
}

/** InvalidMetaError says that the given metadata is invalid (AG-332). The caller gets the message. */
export class InvalidMetaError extends Error {
  override readonly name = 'InvalidMetaError';
}

/**
 * NodeMeta holds the metadata of this machine (AG-27). Dynamic metadata, which is set while the agent runs, overrides
 * the configured metadata and survives a restart of the agent. Changes are applied one at a time, and a change counts
 * once it is on disk.
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

  /** Returns the metadata in force: the configured values with the dynamic ones over them. */
  get merged(): Record<string, string> {
    const all = Object.entries({ ...this.configured, ...this.dynamic });
    return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== null));
  }

  readMeta(): NodeMetaResponse {
    return { Meta: this.merged, Dynamic: this.dynamic, Static: this.configured };
  }

  /**
   * Applies changes and returns all metadata.
   * @throws InvalidMetaError, or the error of the disk; then nothing has changed
   */
  apply(changes: DynamicMeta): Promise<NodeMetaResponse> {
    const done = this.last.then(() => this.applyChanges(changes));
    this.last = done.catch(() => undefined);
    return done;
  }

  private async applyChanges(changes: DynamicMeta): Promise<NodeMetaResponse> {
    for (const key of Object.keys(changes))
      if (!KEY.test(key)) throw new InvalidMetaError(`invalid metadata key: ${JSON.stringify(key)}`);
    // A removed key that is only dynamic is deleted. A removed key of the configuration has to be stored as removed.
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
