/** This process does not hold the role (any more) (DP-602, DP-603). */
export class NotEnabledError extends Error {
  override readonly name = 'NotEnabledError';
  constructor() {
    super('deployment watcher not enabled');
  }
}
