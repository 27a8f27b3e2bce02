import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../access/caller.js';
import { credentialOf } from '../access/routes.guard.js';
import { type Answered, type Recorder, RequestAudit } from './request-audit.js';

/** The records of a WebSocket session, which is no request to the framework (AU-272). Its messages are in none (AU-277). */
export class SessionAudit {
  private caller: Caller | undefined;
  private readonly audit: RequestAudit;

  /** @param url of the request; undefined: it cannot be read */
  constructor(recorder: Recorder, request: IncomingMessage, url: URL | undefined) {
    const { socket, method = 'GET', headers } = request;
    const seen = {
      id: randomUUID(),
      method,
      url: request.url ?? '/',
      route: undefined,
      query: url ? queryOf(url.searchParams) : {},
      userAgent: headers['user-agent'] ?? '',
      credential: credentialOf({ headers }),
      remoteAddress: socket.remoteAddress ?? '',
      localAddress: socket.localAddress ?? '',
    };
    this.audit = new RequestAudit(recorder, seen, {
      caller: () => this.caller,
      traceId: () => undefined,
      body: () => undefined,
      sentBytes: () => socket.bytesWritten,
      whenClosed: (run) => void (socket.closed ? run() : socket.once('close', run)),
    });
  }

  isFrom(caller: Caller): void {
    this.caller = caller;
  }

  refused(credential: string): void {
    this.audit.refused(credential);
  }

  /** @throws Refusal internal: nothing may be done (AU-278) */
  received(): Promise<void> {
    return this.audit.received();
  }

  /** The session is refused. @throws Refusal internal: another answer must go out */
  completed(answered: Answered): Promise<void> {
    return this.audit.completed(answered);
  }

  /** @throws Refusal internal: the session may not begin */
  begins(): Promise<void> {
    return this.audit.beginsStream(SWITCHING_PROTOCOLS);
  }
}

const SWITCHING_PROTOCOLS = 101;

const queryOf = (found: URLSearchParams): Record<string, string[]> =>
  Object.fromEntries([...found.keys()].map((name) => [name, found.getAll(name)]));
