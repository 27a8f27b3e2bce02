/** ExecEvent is what a session says: output, or its end. */
export type ExecEvent =
  | { readonly kind: 'output'; readonly bytes: Uint8Array }
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'nothing' };

interface ExecMessage {
  readonly stdout?: { readonly data?: string };
  readonly stderr?: { readonly data?: string };
  readonly exited?: boolean;
  readonly result?: { readonly exit_code?: number };
}

/** Reads a message of the server (AG-322). @throws SyntaxError if it is not JSON */
export function readExecMessage(text: string): ExecEvent {
  const { stdout, stderr, exited, result } = JSON.parse(text) as ExecMessage;
  if (exited === true) return { kind: 'exited', code: result?.exit_code ?? 0 };
  const data = stdout?.data ?? stderr?.data;
  return data === undefined ? { kind: 'nothing' } : { kind: 'output', bytes: fromBase64(data) };
}

/** Returns typed text as the message that carries it (AG-321). */
export const inputMessage = (text: string): string => JSON.stringify({ stdin: { data: toBase64(text) } });

export const sizeMessage = (width: number, height: number): string => JSON.stringify({ tty_size: { width, height } });

/** Returns the first message, which carries the token, because a browser sends no header with a WebSocket (AG-320). */
export const helloMessage = (token: string): string => JSON.stringify({ version: 1, auth_token: token });

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (letter) => letter.codePointAt(0) ?? 0);
}

function toBase64(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCodePoint(byte)).join(''));
}

/** Splits a command line at spaces; quotes keep spaces. */
export const commandWords = (line: string): readonly string[] =>
  [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) => double ?? single ?? plain ?? '');
