import type { Json } from './official-client.js';
import { TestWebSocket } from './websocket.js';

const CONTENT_TYPE = 'application/json; charset=utf-8';
const BROWSER = { Accept: '*/*', 'Accept-Encoding': 'gzip, deflate, br' };

export type Params = Record<string, string | number | boolean | null | undefined>;

export interface Answer<T> {
  readonly body: T;
  /** `X-Nomad-Index` and `X-Nomad-NextToken` as the UI keeps them. */
  readonly index: number;
  readonly nextToken: string | undefined;
}

interface Init {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

/** What the UI tells errors by: the codes and the texts. */
export class UiError extends Error {
  override readonly name = 'UiError';
  constructor(
    readonly status: number,
    readonly detail: string,
  ) {
    super(`${status} ${detail}`);
  }
}

/**
 * Sends as the UI's adapters do: parameters of GET in the query, null ones empty; everything else with a JSON object for
 * a body, `{}` when there is nothing to say. Reads as they do: nothing is undefined, all else has to be JSON.
 */
export class BrowserUi {
  constructor(private readonly url: string) {}

  get<T = Json>(path: string, params: Params = {}): Promise<Answer<T>> {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(params)) if (value !== undefined) query.set(key, String(value ?? ''));
    return this.send<T>('GET', query.size > 0 ? `${path}?${query.toString()}` : path);
  }

  post<T = Json>(path: string, data: object = {}): Promise<Answer<T>> {
    return this.send<T>('POST', path, data);
  }

  put<T = Json>(path: string, data: object = {}): Promise<Answer<T>> {
    return this.send<T>('PUT', path, data);
  }

  delete<T = Json>(path: string): Promise<Answer<T>> {
    return this.send<T>('DELETE', path, {});
  }

  /** What does not go through the adapters: `fetch` with the browser's own headers. */
  fetch(path: string, init: Init = {}): Promise<Response> {
    const page = { Origin: this.url, Referer: `${this.url}/ui/jobs` };
    return fetch(`${this.url}${path}`, { ...init, headers: { ...BROWSER, ...page, ...init.headers } });
  }

  /** Refused, as by the reference, when the page came from elsewhere: the proxy before it hands the host through. */
  socket(path: string): Promise<TestWebSocket> {
    return TestWebSocket.open(`${this.url}${path}`, { Origin: this.url });
  }

  /** @throws UiError */
  private async send<T>(method: string, path: string, data?: object): Promise<Answer<T>> {
    const content = data && { body: JSON.stringify(data), headers: { 'Content-Type': CONTENT_TYPE } };
    const answer = await this.fetch(path, { method, ...content });
    const text = await answer.text();
    if (!answer.ok) throw new UiError(answer.status, text);
    return {
      body: (text === '' ? undefined : JSON.parse(text)) as T,
      index: Number(answer.headers.get('x-nomad-index') ?? 0),
      nextToken: answer.headers.get('x-nomad-nexttoken') ?? undefined,
    };
  }
}

/** `utils/stream-frames.js` with the expression by which `stream-logger.js` finds whole frames: no newline may be there. */
export function framed(chunk: string): string {
  const [, whole = ''] = /(.*\})(.*)$/.exec(chunk) ?? [];
  const frames = whole.replaceAll('}{', '}\n{').split('\n');
  const datas = frames.map((frame) => (JSON.parse(frame) as { Data?: string }).Data ?? '');
  return datas.map((data) => Buffer.from(data, 'base64').toString()).join('');
}

/** What a stream says first, which is then closed. */
export async function firstOf(answer: Response): Promise<string> {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return value ?? '';
}

/** What a terminal shows of the messages of a socket. */
export const shown = ({ messages }: TestWebSocket): string =>
  messages
    .map((text) => (JSON.parse(text) as { stdout?: { data?: string } }).stdout?.data ?? '')
    .map((data) => Buffer.from(data, 'base64').toString())
    .join('');
