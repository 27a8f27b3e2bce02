import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Interrupts, runProgram } from '@waybill/cli';

const BIN = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));

/** What the API answers: a value, a status with a text, or whatever writes the answer itself. */
export type Play =
  | string
  | object
  | null
  | readonly [status: number, text: string]
  | ((response: ServerResponse, seen: Call) => void);

/** A request as it came. */
export interface Call {
  readonly line: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An HTTP server that gives the answers a test wrote down, and remembers what it was asked; 404 for all else. */
export class RecordedApi {
  readonly seen: Call[] = [];
  private readonly plays = new Map<string, Play[]>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<RecordedApi> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const api = new RecordedApi(server);
    server.on('request', (request, response) => {
      void (async () => {
        let body = '';
        for await (const chunk of request) body += String(chunk);
        const url = new URL(request.url ?? '', 'http://server');
        const line = `${request.method} ${url.pathname}`;
        api.answer(response, { line, query: url.searchParams, headers: request.headers, body });
      })();
    });
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** @param answers one after the other; the last one is repeated */
  play(line: string, ...answers: Play[]): void {
    this.plays.set(line, answers);
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** The command line against this server, in this process, not on a terminal. */
  async run(words: string[], env: Record<string, string> = {}, interruptAt?: RegExp) {
    const interrupts = new Interrupts();
    let [out, err] = ['', ''];
    const sink = (take: (text: string) => void) => ({
      isTTY: false,
      write: (text: string | Uint8Array) => {
        take(typeof text === 'string' ? text : Buffer.from(text).toString());
        return true;
      },
      once: () => undefined,
    });
    const code = await runProgram('/usr/bin/waybill', words, {
      // Without the look at the server's settings that hints take: what a test counts is the command's own.
      env: { WAYBILL_ADDR: this.url, WAYBILL_CLI_SHOW_HINTS: 'false', ...env },
      stdout: sink((text) => {
        out += text;
        if (interruptAt?.test(out)) interrupts.press();
      }),
      stderr: sink((text) => (err += text)),
      interrupts,
    });
    // Times are the client's clock: what is compared has none.
    return { code, out: out.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)/g, '<ts>'), err };
  }

  /** The built program against this server, with something at its stdin that is no terminal. */
  async runTyped(text: string, words: string[]): Promise<{ code: number; out: string; err: string }> {
    const child = spawn(process.execPath, [BIN, ...words], {
      env: { ...process.env, WAYBILL_ADDR: this.url, WAYBILL_CLI_SHOW_HINTS: 'false' },
    });
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    child.stdin.end(text);
    const [code] = (await once(child, 'close')) as [number];
    return { code, out, err };
  }

  private answer(response: ServerResponse, call: Call): void {
    this.seen.push(call);
    const queue = this.plays.get(call.line) ?? [[404, '']];
    const play = (queue.length > 1 ? queue.shift() : queue[0]) ?? null;
    if (typeof play === 'function') return play(response, call);
    if (Array.isArray(play) && typeof play[0] === 'number') {
      response.writeHead(play[0]).end(play[1]);
      return;
    }
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'X-Nomad-Index': '10',
      'X-Waybill-Trace-Id': 'ab'.repeat(16),
    });
    response.end(JSON.stringify(play));
  }
}
