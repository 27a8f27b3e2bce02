import type { ExecOutputChunk, ExecWriteRequest } from '@waybill/rpc';
import { z } from 'zod';

/**
 * ExecMessageError says that a client sent something that is not a message of an exec session. The text is for the
 * client.
 */
export class ExecMessageError extends Error {
  override readonly name = 'ExecMessageError';
}

const inputMessage = z.object({
  stdin: z.object({ data: z.base64().nullish(), close: z.boolean().nullish() }).nullish(),
  tty_size: z.object({ height: z.int().min(0).max(65_535), width: z.int().min(0).max(65_535) }).nullish(),
});
const helloMessage = z.object({ version: z.int(), auth_token: z.string().nullish() });

/** The only version of the protocol (AG-320). */
const VERSION = 1;

/** Decodes a message of the client (AG-321). The result is null for a heartbeat. @throws ExecMessageError */
export function inputOf(message: string): Omit<ExecWriteRequest, 'SessionID'> | null {
  const { stdin, tty_size: size } = parseMessage(inputMessage, message);
  if (!stdin && !size) return null;
  return {
    Data: stdin?.data ?? '',
    Close: stdin?.close ?? false,
    Size: size ? { Height: size.height, Width: size.width } : null,
  };
}

/** Returns the token in the first message of a client that cannot set headers (AG-320). @throws ExecMessageError */
export function tokenOf(message: string): string {
  const { version, auth_token: token } = parseMessage(helloMessage, message);
  if (version !== VERSION) throw new ExecMessageError(`unexpected version ${version}: only ${VERSION} is spoken here`);
  return token ?? '';
}

/** Encodes a chunk of output as the message of its stream (AG-322). */
export const outputMessage = ({ Stream, Data }: ExecOutputChunk): string =>
  JSON.stringify({ [Stream]: { data: Data } });
export const closedMessage = (stream: 'stdout' | 'stderr'): string => JSON.stringify({ [stream]: { close: true } });
export const exitedMessage = (code: number): string => JSON.stringify({ exited: true, result: { exit_code: code } });

function parseMessage<T>(shape: z.ZodType<T>, message: string): T {
  let value: unknown;
  try {
    value = JSON.parse(message);
  } catch {
    throw new ExecMessageError('a message is no JSON');
  }
  const result = shape.safeParse(value);
  if (!result.success)
    throw new ExecMessageError(`a message is not understood: ${result.error.issues[0]?.message ?? ''}`);
  return result.data;
}
