import type { ReadStream, WriteStream } from 'node:tty';
import { CLOSE, type WebSocket } from '@waybill/websocket';
import type { Call } from '../command-spec.js';
import { ExecEscape } from './exec-escape.js';
import { CommandFailure } from '../failure.js';

/** Milliseconds between heartbeats, which keep proxies from closing a quiet session (CL-434). */
const HEARTBEAT_MS = 10_000;

export interface ExecOptions {
  readonly tty: boolean;
  /** Whether typed input goes to the command. */
  readonly interactive: boolean;
  readonly escape: string | undefined;
}

/** A message of the agent (AG-322). */
interface ExecMessage {
  readonly stdout?: { readonly data?: string };
  readonly stderr?: { readonly data?: string };
  readonly exited?: boolean;
  readonly result?: { readonly exit_code?: number };
}

/** Streams of the terminal, or of files in its place. */
export interface ExecStreams {
  readonly stdin: ReadStream;
  readonly stdout: WriteStream;
}

/**
 * One remote command. Typed input goes to it and its output comes back, until the command ends, the connection breaks,
 * or the escape sequence or Ctrl-C ends the session. A terminal is in raw mode meanwhile and is always restored (CL-431
 * to CL-434).
 */
export class ExecSession {
  private escaped = false;
  private restore: () => void = () => undefined;

  constructor(
    private readonly call: Pick<Call, 'terminal' | 'interrupt'>,
    private readonly socket: WebSocket,
    private readonly options: ExecOptions,
    private readonly streams: ExecStreams,
  ) {}

  /** Resolves with the exit code of the command. @throws CommandFailure, AbortError at Ctrl-C */
  async runCommand(): Promise<number> {
    const { socket, call } = this;
    const { stdin } = this.streams;
    const leave = () => this.leave();
    const heartbeat = setInterval(() => void socket.send('{}'), HEARTBEAT_MS);
    call.interrupt.addEventListener('abort', leave, { once: true });
    this.takeTerminal();
    const typing = this.options.interactive ? this.sendTyped() : socket.send(stdinMessage(undefined));
    try {
      return await this.untilExited();
    } finally {
      clearInterval(heartbeat);
      call.interrupt.removeEventListener('abort', leave);
      this.restore();
      this.leave();
      stdin.destroy();
      await typing.catch(() => undefined);
    }
  }

  /** Sends the close message and does not wait for an answer. */
  private leave(): void {
    this.socket.close(CLOSE.normal, '');
    this.socket.destroy();
  }

  private async untilExited(): Promise<number> {
    const { call, socket } = this;
    for await (const text of socket.messages()) {
      const message = JSON.parse(text) as ExecMessage;
      for (const name of ['stdout', 'stderr'] as const) {
        const data = message[name]?.data;
        if (data) await call.terminal.bytes(Buffer.from(data, 'base64'), name);
      }
      if (message.exited) return message.result?.exit_code ?? 0;
    }
    call.interrupt.throwIfAborted();
    if (this.escaped) throw new CommandFailure('\nConnection closed');
    const { code, reason } = socket.closing;
    throw new CommandFailure(
      `failed to exec into task: ${reason === '' && code === CLOSE.normal ? 'the session ended' : reason}`,
    );
  }

  /** Switches the terminal to raw mode, and sends its size at the start and after every change. */
  private takeTerminal(): void {
    if (!this.options.tty) return;
    const { socket } = this;
    const { stdin, stdout } = this.streams;
    const tellSize = () => {
      void socket.send(JSON.stringify({ tty_size: { height: stdout.rows ?? 24, width: stdout.columns ?? 80 } }));
    };
    if (stdin.isTTY) stdin.setRawMode(true);
    stdout.on('resize', tellSize);
    tellSize();
    const restore = () => {
      if (stdin.isTTY) stdin.setRawMode(false);
      stdout.off('resize', tellSize);
      process.off('exit', restore);
    };
    process.once('exit', restore);
    this.restore = restore;
  }

  private async sendTyped(): Promise<void> {
    const { socket, options } = this;
    const { stdin } = this.streams;
    const escape = new ExecEscape(options.tty ? options.escape : undefined);
    for await (const typed of stdin as AsyncIterable<Buffer>) {
      const { bytes, ends } = escape.pass(typed);
      if (bytes.length > 0) await socket.send(stdinMessage(bytes));
      if (!ends) continue;
      this.escaped = true;
      this.leave();
      return;
    }
    await socket.send(stdinMessage(undefined));
  }
}

/** Encodes input. Undefined stands for its end. */
const stdinMessage = (bytes: Buffer | undefined): string =>
  JSON.stringify({ stdin: bytes ? { data: bytes.toString('base64') } : { close: true } });
