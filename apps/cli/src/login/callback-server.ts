import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIPv6, type AddressInfo } from 'node:net';
import { causeOf, CommandFailure } from '../failure.js';

const PATH = '/oidc/callback';
/** A browser that keeps a connection open must not keep the command from ending. */
const HEADERS_TIMEOUT_MS = 10_000;

/** What the provider sent back with the browser. */
export interface Callback {
  readonly state: string;
  readonly code: string;
  /** Who the provider says it is; empty: it does not. */
  readonly issuer: string;
}

/** The provider, or somebody there, has refused the login. */
export class LoginRefused extends Error {
  override readonly name = 'LoginRefused';
}

/**
 * Waits on this machine for the browser that comes back from a provider (AU-292, AU-294). Only `/oidc/callback` is
 * answered, only with the state that the login was begun with, and only once; whatever else comes, the login goes on.
 */
export class CallbackServer {
  private constructor(
    private readonly server: Server,
    /** Where the provider sends the browser. */
    readonly redirectUri: string,
  ) {}

  /** @param address `host:port`; port 0: any. @throws CommandFailure it cannot be listened on */
  static async listen(address: string): Promise<CallbackServer> {
    const [host, port] = hostAndPort(address);
    const server = createServer();
    server.headersTimeout = HEADERS_TIMEOUT_MS;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(new CommandFailure(cannotListen(address, error))));
      server.listen(port, host, resolve);
    });
    const { port: bound } = server.address() as AddressInfo;
    return new CallbackServer(server, `http://${isIPv6(host) ? `[${host}]` : host}:${bound}${PATH}`);
  }

  /** What came back. @throws LoginRefused; the reason of `signal` when it gives the wait up */
  next(state: string, signal: AbortSignal): Promise<Callback> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(signal.reason as Error);
      if (signal.aborted) giveUp();
      signal.addEventListener('abort', giveUp, { once: true });
      this.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
        const answer = answerTo(request, state);
        response.writeHead(answer.status, HEADERS).end(page(answer.text), () => {
          if (answer.callback) resolve(answer.callback);
          if (answer.refused) reject(answer.refused);
        });
      });
    });
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly callback?: Callback;
  readonly refused?: LoginRefused;
}

/** Pure: what one request of a browser means. */
export function answerTo({ method, url }: Pick<IncomingMessage, 'method' | 'url'>, state: string): Answer {
  const { pathname, searchParams } = new URL(url ?? '/', 'http://localhost');
  if (pathname !== PATH) return { status: 404, text: 'There is nothing here.' };
  if (method !== 'GET') return { status: 405, text: 'Only GET is answered here.' };
  if (searchParams.get('state') !== state)
    return { status: 400, text: 'This is not the login that the command line waits for.' };
  const error = searchParams.get('error');
  if (error !== null) {
    const said = [error, searchParams.get('error_description')].filter((part) => part !== null && part !== '');
    return { status: 400, text: `The login failed: ${said.join(': ')}`, refused: new LoginRefused(said.join(': ')) };
  }
  const code = searchParams.get('code') ?? '';
  if (code === '')
    return { status: 400, text: 'The provider sent no code.', refused: new LoginRefused('the provider sent no code') };
  const callback = { state, code, issuer: searchParams.get('iss') ?? '' };
  return { status: 200, text: 'You are logged in. You may close this page and go back to the command line.', callback };
}

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'",
  'Referrer-Policy': 'no-referrer',
  Connection: 'close',
};

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
const page = (text: string): string =>
  `<!doctype html><html lang="en"><head><title>Waybill</title></head><body><p>${escaped(text)}</p></body></html>\n`;

/** @throws CommandFailure */
function hostAndPort(address: string): readonly [string, number] {
  const at = address.lastIndexOf(':');
  const host = address.slice(0, at).replace(/^\[(.*)\]$/, '$1');
  const port = Number(address.slice(at + 1));
  if (at < 1 || !/^\d{1,5}$/.test(address.slice(at + 1)) || port > 65_535)
    throw new CommandFailure(
      `Error performing login: -oidc-callback-addr must be a host and a port such as localhost:4649; got: ${address}`,
    );
  return [host, port];
}

const cannotListen = (address: string, error: Error & { code?: string }): string =>
  error.code === 'EADDRINUSE'
    ? `Error performing login: cannot listen on ${address} for the provider's answer: the port is in use. Choose another with -oidc-callback-addr`
    : `Error performing login: cannot listen on ${address} for the provider's answer: ${causeOf(error)}`;
