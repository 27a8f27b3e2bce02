export interface NatsServerPathOptions {
  /** Fetch the private copy when there is no other. Default false. */
  readonly install?: boolean;
  /** The project's root. Default: found from this file, whatever the working directory. */
  readonly root?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly log?: (line: string) => void;
}

export declare class NatsServerBinaryError extends Error {}

export declare function natsServerPath(options?: NatsServerPathOptions): Promise<string>;
