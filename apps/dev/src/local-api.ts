import { readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';

/** LocalApiTls says how to call the API of this run over TLS. */
export interface LocalApiTls {
  /** The file is empty for the authorities of the system. */
  readonly caFile: string;
  /** The client certificate, for an API that requires one from its callers. */
  readonly certFile: string;
  readonly keyFile: string;
}

export interface LocalAnswer {
  readonly status: number;
  readonly index: number;
  readonly body: string;
}

/** LocalApi calls the API that this run has started, on the loopback. */
export class LocalApi {
  /** @param tls undefined if the API does not use TLS */
  constructor(
    private readonly port: number,
    private readonly tls: LocalApiTls | undefined,
  ) {}

  get url(): string {
    return `${this.tls ? 'https' : 'http'}://127.0.0.1:${this.port}`;
  }

  request(path: string, method = 'GET', body?: Buffer): Promise<LocalAnswer> {
    return new Promise((resolve, reject) => {
      const url = new URL(path, this.url);
      const read = (answer: IncomingMessage): void => {
        const [status, index] = [answer.statusCode ?? 0, Number(answer.headers['x-nomad-index'])];
        text(answer).then((found) => resolve({ status, index, body: found }), reject);
      };
      const sent = this.tls
        ? httpsRequest(url, { ...this.proof(this.tls), method, agent: false }, read)
        : httpRequest(url, { method, agent: false }, read);
      sent.once('error', reject);
      sent.end(body);
    });
  }

  /**
   * Returns the options of the connection. They check the authority of the certificate and not its name: the
   * certificate may be for the public name and not for the loopback.
   */
  private proof({ caFile, certFile, keyFile }: LocalApiTls): object {
    return {
      ...(caFile !== '' && { ca: readFileSync(caFile) }),
      cert: readFileSync(certFile),
      key: readFileSync(keyFile),
      checkServerIdentity: () => undefined,
    };
  }
}
