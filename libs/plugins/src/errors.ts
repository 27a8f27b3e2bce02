import { status } from './status.js';

/** A plugin refused or failed a call, or did not answer in time. The message is the plugin's own text. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
  constructor(
    readonly method: string,
    /** The status code of gRPC. */
    readonly code: number,
    message: string,
    /** Whether the plugin says that another try may succeed (PG-55). */
    readonly isRecoverable = false,
  ) {
    super(message);
  }

  get isUnimplemented(): boolean {
    return this.code === status.UNIMPLEMENTED;
  }

  /** Whether the plugin does not know the task (PG-63). Plugins have no code of their own for it. */
  get isTaskNotFound(): boolean {
    return this.message.endsWith('task not found for given id');
  }
}

/** The process of the plugin has ended, before or during the call (PG-12). */
export class PluginShutDownError extends Error {
  override readonly name = 'PluginShutDownError';
  constructor() {
    super('plugin is shut down');
  }
}
