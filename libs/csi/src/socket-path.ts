/** Most bytes in a Linux address of a Unix socket (CW-3). */
export const MAX_SOCKET_PATH_BYTES = 107;

export class SocketPathTooLongError extends Error {
  override readonly name = 'SocketPathTooLongError';
  constructor(socketPath: string) {
    super(
      `the path of the plugin's socket has ${Buffer.byteLength(socketPath)} bytes, a Unix socket takes ${MAX_SOCKET_PATH_BYTES}: use a shorter agent directory (${socketPath})`,
    );
  }
}

/** @throws SocketPathTooLongError */
export function checkedSocketPath(socketPath: string): string {
  if (Buffer.byteLength(socketPath) > MAX_SOCKET_PATH_BYTES) throw new SocketPathTooLongError(socketPath);
  return socketPath;
}
