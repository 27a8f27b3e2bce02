import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { KeyPair } from '@waybill/certificates';

/** What a pod's token says. */
export interface PodToken {
  readonly account: string;
  readonly machine: string;
  readonly audience: string;
  readonly isExpired?: boolean;
}

/** As much of the Kubernetes API server as reviews tokens. `npm run test:kubernetes` asks a real one. */
export class TokenReviewer {
  readonly pods = new Map<string, PodToken>();
  /** Reviews that were asked for. */
  reviews = 0;
  /** Whether it answers nobody. */
  isSilent = false;

  private constructor(private readonly server: Server) {}

  /** @param ownToken the only one with which it may be asked */
  static async start({ certificate, key }: KeyPair, ownToken: string): Promise<TokenReviewer> {
    const server = createServer({ cert: certificate, key });
    const reviewer = new TokenReviewer(server);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void reviewer.answer(request, response, ownToken);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return reviewer;
  }

  get url(): string {
    return `https://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async answer(request: IncomingMessage, response: ServerResponse, ownToken: string): Promise<void> {
    this.reviews++;
    if (this.isSilent) return;
    const asked = JSON.parse(await text(request)) as { spec: { token: string; audiences: string[] } };
    if (request.url !== '/apis/authentication.k8s.io/v1/tokenreviews') response.statusCode = 404;
    else if (request.headers.authorization !== `Bearer ${ownToken}`) response.statusCode = 401;
    else response.statusCode = 201;
    response.end(JSON.stringify({ status: this.statusOf(asked.spec) }));
  }

  private statusOf({ token, audiences }: { token: string; audiences: string[] }): object {
    const pod = this.pods.get(token);
    if (!pod || pod.isExpired || !audiences.includes(pod.audience)) return { authenticated: false };
    const extra = {
      'authentication.kubernetes.io/node-name': [pod.machine],
      'authentication.kubernetes.io/pod-name': [`agent-on-${pod.machine}`],
    };
    return { authenticated: true, audiences: [pod.audience], user: { username: pod.account, extra } };
  }
}
