// A client of the HTTP API that costs the benchmark little.
import { Agent, request } from 'node:http';

/** A keep-alive client, as SDKs are. */
export class Client {
  #agent = new Agent({ keepAlive: true, maxSockets: Infinity });

  /** @param {number} port */
  constructor(port) {
    this.port = port;
  }

  /**
   * @param {string} path
   * @param {{ method?: string, body?: string, signal?: AbortSignal, headers?: Record<string, string> }} more
   * @returns {Promise<Buffer>}
   */
  ask(path, { method = 'GET', body, signal, headers } = {}) {
    return new Promise((resolve, reject) => {
      const sent = request(
        { host: '127.0.0.1', port: this.port, path, method, headers, agent: this.#agent, signal },
        (answer) => {
          /** @type {Buffer[]} */
          const chunks = [];
          answer.on('data', (chunk) => chunks.push(chunk));
          answer.on('end', () => {
            const whole = Buffer.concat(chunks);
            if (answer.statusCode === 200) resolve(whole);
            else reject(new Error(`${method} ${path}: ${answer.statusCode} ${whole.toString()}`));
          });
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }

  /** Milliseconds until the whole answer is here. @param {string} path @param {Record<string, string>} headers */
  async timeOf(path, headers = {}) {
    const began = performance.now();
    await this.ask(path, { headers });
    return performance.now() - began;
  }

  /**
   * As `timeOf`, but what comes is counted and dropped: eight readers that put nine megabytes together each would
   * measure this program's collector of garbage.
   * @param {string} path @param {Record<string, string>} headers
   * @returns {Promise<{ ms: number, bytes: number }>}
   */
  drained(path, headers = {}) {
    const began = performance.now();
    return new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: this.port, path, headers, agent: this.#agent }, (answer) => {
        let bytes = 0;
        answer.on('data', (chunk) => (bytes += chunk.length));
        answer.on('end', () => resolve({ ms: performance.now() - began, bytes }));
      });
      sent.on('error', reject);
      sent.end();
    });
  }

  stop() {
    this.#agent.destroy();
  }
}
