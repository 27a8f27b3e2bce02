import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text as textOfStream } from 'node:stream/consumers';

const CHROMIUM = '/usr/bin/chromium';
export const hasChromium = existsSync(CHROMIUM);

/** Chromium starts several processes; on a busy machine that takes a while. */
const REPORT_TIMEOUT_MS = 90_000;
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];

/** As the browser sent it, `Host` included. */
function passOn(request: IncomingMessage, response: ServerResponse, to: string): void {
  const upstream = httpRequest(to, { method: request.method, path: request.url, headers: request.headers });
  upstream.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 0, answer.headers);
    answer.pipe(response);
  });
  upstream.on('error', () => response.destroy());
  response.on('close', () => upstream.destroy());
  request.pipe(upstream);
}

/**
 * A web server of somebody else, and a real browser that opens its page. The page runs a script and posts what came of it
 * to its own server, so nothing has to look into the browser.
 */
export class VisitedPage {
  private browser: ChildProcess | undefined;
  private readonly profile = mkdtempSync(path.join(tmpdir(), 'waybill-chromium-'));

  private constructor(
    private readonly server: Server,
    private readonly reported: Promise<string>,
  ) {}

  /**
   * @param script body of an async function, whose value is reported
   * @param rebound server that `/v1` of the page's own name leads to, as it does once the name's record was changed
   */
  static async serve(script: string, rebound?: string): Promise<VisitedPage> {
    let report: (text: string) => void = () => {};
    const reported = new Promise<string>((resolve) => (report = resolve));
    const html = `<!doctype html><title>page</title><body><script>
      const attack = async () => { ${script} };
      attack().catch((error) => ({ failed: String(error) }))
        .then((found) => fetch('/report', { method: 'POST', body: JSON.stringify(found) }));
    </script>`;
    const server = createServer((request, response) => {
      if (rebound !== undefined && request.url?.startsWith('/v1/')) return passOn(request, response, rebound);
      if (request.url === '/report') void textOfStream(request).then(report);
      response.setHeader('Content-Type', 'text/html');
      response.end(request.url === '/' ? html : '');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new VisitedPage(server, reported);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** @param url where the browser goes; the page's own by default @returns what the page found out */
  async visit<T>(url = `http://127.0.0.1:${this.port}/`, flags: readonly string[] = []): Promise<T> {
    const args = [...FLAGS, ...flags, `--user-data-dir=${this.profile}`, '--remote-debugging-port=0', url];
    this.browser = spawn(CHROMIUM, args, { stdio: 'ignore', detached: true });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('the page did not report in time')), REPORT_TIMEOUT_MS);
    });
    try {
      return JSON.parse(await Promise.race([this.reported, late])) as T;
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    const { browser } = this;
    if (browser?.pid !== undefined && browser.exitCode === null) {
      const exited = once(browser, 'exit');
      process.kill(-browser.pid, 'SIGKILL'); // its helpers are in its process group
      await exited;
    }
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 10 });
  }
}
