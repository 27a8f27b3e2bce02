import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Difference, differences, valueAt } from './compare.js';
import { type Pair, type RequestPair, titleOf, type Topic } from './pair.js';

/** How long a pair with `until` may take to be right, and how often it is asked. */
const UNTIL_MS = 30_000;
const POLL_MS = 100;
const REQUEST_TIMEOUT_MS = 45_000;
/** How long a stream is listened to for what it is to say. */
const STREAM_MS = 15_000;

/** How a pair went; no differences: as it should, or left out. */
export interface Outcome {
  readonly topic: string;
  readonly title: string;
  readonly differences: readonly Difference[];
  /** Why the right answer is another one than the reference's. */
  readonly differs: string | undefined;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface ReplayOptions {
  /** For servers that ask for one. */
  readonly token?: string | undefined;
  /** Plays the pairs that touch what is not the run's own, too. */
  readonly disturb?: boolean;
  /** The server is known to be Waybill: the reference's own statuses are wrong (API-36). */
  readonly isOurs?: boolean;
}

/**
 * Plays pairs against a server, and leaves nothing of them there: jobs go into a namespace of their own, which is emptied and
 * deleted at the end, and other objects carry its name. Pairs that make nothing are the same for every server.
 * begun → played, topic after topic → cleaned. Cost: one request for each pair, more for those with `until`.
 */
export class Replay {
  /** Of this run, in names: `<<run>>`. */
  private readonly run = `compat-${randomBytes(4).toString('hex')}`;
  private names = new Map<string, string>();
  private interrupted = false;

  /**
   * @param url of the API, without `/v1`
   */
  constructor(
    private readonly url: string,
    private readonly options: ReplayOptions = {},
  ) {}

  /** Plays no further pair: whoever waits for `play` then cleans. */
  interrupt(): void {
    this.interrupted = true;
  }

  get wasInterrupted(): boolean {
    return this.interrupted;
  }

  /** @throws when the server cannot be reached, or no namespace can be made there */
  async begin(): Promise<void> {
    const made = await this.send('PUT', `/v1/namespace/${this.run}`, { body: { Name: this.run } }).catch(
      (error: unknown) => {
        const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
        throw new Error(`cannot reach ${this.url}: ${cause}. Is it the address of a server, with http:// before it?`);
      },
    );
    if (made.status !== 200) throw new Error(`no namespace can be made: ${made.status} ${made.text}`);
  }

  async play(topic: Topic): Promise<Outcome[]> {
    this.names = new Map([['run', this.run]]);
    const outcomes: Outcome[] = [];
    for (const pair of topic.pairs) {
      if (this.interrupted) break;
      if (pair.kind === 'request' && pair.disturbs && !this.options.disturb) continue;
      outcomes.push({
        topic: topic.name,
        title: titleOf(pair),
        differences: await this.played(pair).catch((error: unknown) => [
          { at: 'the request', wanted: 'an answer', found: error instanceof Error ? error.message : String(error) },
        ]),
        differs: pair.differs,
      });
    }
    await this.purgeJobs();
    return outcomes;
  }

  /**
   * Takes away whatever the run has made, and may have left when a pair failed.
   * @throws when the namespace of the run cannot be deleted
   */
  async clean(): Promise<void> {
    await this.purgeJobs();
    const pools = JSON.parse((await this.send('GET', `/v1/node/pools?prefix=${this.run}`)).text) as { Name: string }[];
    for (const { Name } of pools) await this.send('DELETE', `/v1/node/pool/${Name}`);
    const [left] = await this.until(async () => {
      const gone = await this.send('DELETE', `/v1/namespace/${this.run}`);
      return gone.status === 200 ? [] : [{ at: 'the namespace', wanted: 'deleted', found: gone.text }];
    });
    if (left) throw new Error(`namespace ${this.run} stays behind: ${left.found}`);
  }

  private async purgeJobs(): Promise<void> {
    const within = `namespace=${this.run}`;
    const jobs = JSON.parse((await this.send('GET', `/v1/jobs?${within}`)).text) as { ID: string }[] | null;
    for (const { ID } of jobs ?? [])
      await this.send('DELETE', `/v1/job/${encodeURIComponent(ID)}?purge=true&${within}`);
  }

  private async played(pair: Pair): Promise<readonly Difference[]> {
    switch (pair.kind) {
      case 'request':
        return pair.until ? this.until(() => this.requested(pair)) : this.requested(pair);
      case 'validation':
        return this.validated(pair);
      case 'expression':
        return this.evaluated(pair);
      case 'file':
        return this.parsed(pair);
    }
  }

  /** The last differences, once there are none or UNTIL_MS are over. */
  private async until(once: () => Promise<readonly Difference[]>): Promise<readonly Difference[]> {
    for (const deadline = performance.now() + UNTIL_MS; ;) {
      const found = await once();
      if (found.length === 0 || performance.now() > deadline) return found;
      await delay(POLL_MS);
    }
  }

  private async requested(pair: RequestPair): Promise<Difference[]> {
    const [method = '', target = ''] = this.filled(pair.send).split(/ (.*)/s);
    const path = pair.outside ? target : `${target}${target.includes('?') ? '&' : '?'}namespace=${this.run}`;
    const began = performance.now();
    const asked = pair.streams
      ? this.listened(path, pair)
      : this.send(method, path, {
          ...(pair.body !== undefined && { body: JSON.parse(this.filled(JSON.stringify(pair.body))) as unknown }),
          ...(pair.raw !== undefined && { raw: this.filled(pair.raw) }),
          ...(pair.headers && { headers: pair.headers }),
        });
    const [answer, other] = await Promise.all([asked, pair.meanwhile && this.meanwhile(pair.meanwhile)]);
    const found = [
      ...(other ?? []),
      ...ofStatus(answer.status === pair.reference && !this.options.isOurs ? answer.status : pair.status, answer),
      ...ofTime(pair, performance.now() - began),
      ...Object.entries(pair.answered ?? {}).flatMap(([name, wanted]) => ofHeader(name, this.filled(wanted), answer)),
      ...this.ofBody(pair, answer),
    ];
    return found.length > 0 ? found : this.kept(pair, answer);
  }

  /** Of a stream, what it said until it said what is asked for, or until STREAM_MS were over. */
  private async listened(target: string, pair: RequestPair): Promise<Answer> {
    const over = AbortSignal.timeout(STREAM_MS);
    const heard = new AbortController();
    const { status, headers, body } = await fetch(this.url + target, {
      headers: this.options.token === undefined ? {} : { 'X-Nomad-Token': this.options.token },
      signal: AbortSignal.any([over, heard.signal]),
    });
    const decoder = new TextDecoder();
    let text = '';
    try {
      for await (const chunk of body ?? []) {
        text += decoder.decode(chunk as Uint8Array, { stream: true });
        if (this.ofBody(pair, { status, headers, text }).length === 0) break;
      }
    } catch (error) {
      if (!over.aborted) throw error;
    } finally {
      heard.abort();
    }
    return { status, headers, text };
  }

  private async meanwhile({ send, body }: NonNullable<RequestPair['meanwhile']>): Promise<Difference[]> {
    const [method = '', target = ''] = this.filled(send).split(/ (.*)/s);
    const path = `${target}${target.includes('?') ? '&' : '?'}namespace=${this.run}`;
    return ofStatus(200, await this.send(method, path, { body }));
  }

  /** Keeps what later pairs of the topic name. */
  private kept({ keep = {}, keepHeaders = {} }: RequestPair, answer: Answer): Difference[] {
    const json = Object.keys(keep).length > 0 ? (JSON.parse(answer.text) as unknown) : undefined;
    const values = [
      ...Object.entries(keep).map(([name, place]) => ({ name, place, value: valueAt(json, place) })),
      ...Object.entries(keepHeaders).map(([name, place]) => ({ name, place, value: answer.headers.get(place) })),
    ];
    for (const { name, place, value } of values) {
      if (typeof value !== 'string' && typeof value !== 'number')
        return [{ at: place, wanted: 'a value to keep', found: typeof value }];
      this.names.set(name, `${value}`);
    }
    return [];
  }

  private ofBody({ answer: wanted, holds, has, text, says, streams }: RequestPair, answer: Answer): Difference[] {
    if (text !== undefined) return ofText(this.filled(text), answer.text, false);
    if (says !== undefined) return ofText(this.filled(says), answer.text, true);
    if (has !== undefined) return ofElement(JSON.parse(this.filled(JSON.stringify(has))), answer, streams);
    const json = wanted === undefined ? holds : wanted;
    if (json === undefined) return [];
    return ofJson(JSON.parse(this.filled(JSON.stringify(json))), answer, wanted !== undefined);
  }

  /** API-330 and what follows it: all errors are in one text. */
  private async validated({ job, group, task, says }: Extract<Pair, { kind: 'validation' }>): Promise<Difference[]> {
    const tasks = [{ Name: 'main', Driver: 'raw_exec', Config: { command: 'true' }, ...task }];
    const groups = [{ Name: 'app', Tasks: tasks, ...group }];
    const Job = { ID: 'web', Name: 'web', Type: 'service', Datacenters: ['*'], TaskGroups: groups, ...job };
    const answer = await this.send('PUT', `/v1/validate/job?namespace=${this.run}`, { body: { Job } });
    if (answer.status !== 200) return ofStatus(200, answer);
    const { Error: text = '' } = JSON.parse(answer.text) as { Error?: string };
    return ofText(says, text, says !== '');
  }

  private async evaluated(pair: Extract<Pair, { kind: 'expression' }>): Promise<Difference[]> {
    const JobHCL = `job "x" {\n  task "t" {\n    driver = "raw_exec"\n    config {\n      a = [${pair.expression}\n]\n    }\n  }\n}\n`;
    const answer = await this.send('POST', '/v1/jobs/parse', { body: { JobHCL, Canonicalize: false } });
    if (pair.refused !== undefined) return ofRefusal(pair.refused, answer);
    if (answer.status !== 200) return ofStatus(200, answer);
    const value = valueAt(JSON.parse(answer.text), 'TaskGroups.0.Tasks.0.Config.a.0');
    return differences(pair.value, value, true, pair.expression);
  }

  private async parsed(pair: Extract<Pair, { kind: 'file' }>): Promise<Difference[]> {
    const { file: JobHCL, variables: Variables, canonical: Canonicalize } = pair;
    const body = { JobHCL, Canonicalize, ...(Variables !== undefined && { Variables }) };
    const answer = await this.send('POST', '/v1/jobs/parse', { body });
    if (pair.refused !== undefined) return ofRefusal(pair.refused, answer);
    return answer.status === 200 ? ofJson(pair.holds, answer, false) : ofStatus(200, answer);
  }

  private filled(text: string): string {
    return text.replaceAll(/<<(\w+)>>/g, (all, name: string) => this.names.get(name) ?? all);
  }

  private async send(
    method: string,
    target: string,
    {
      body,
      raw,
      headers,
    }: { readonly body?: unknown; readonly raw?: string; readonly headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const answer = await fetch(this.url + target, {
      method,
      headers: { ...(this.options.token !== undefined && { 'X-Nomad-Token': this.options.token }), ...headers },
      ...(sent !== undefined && { body: sent }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }
}

const MAX_SHOWN = 300;

const ofStatus = (wanted: number, { status, text }: Answer): Difference[] =>
  status === wanted ? [] : [{ at: 'status', wanted: String(wanted), found: `${status} ${text.slice(0, MAX_SHOWN)}` }];

function ofHeader(name: string, wanted: string, { headers }: Answer): Difference[] {
  const found = headers.get(name);
  const number = found !== null && /^\d+$/.test(found) ? Number(found) : found;
  return differences(/^\d+$/.test(wanted) ? Number(wanted) : wanted, number, true, name);
}

const ofText = (wanted: string, found: string, isPart: boolean): Difference[] =>
  (isPart ? found.includes(wanted) : found === wanted)
    ? []
    : [{ at: isPart ? 'a part of the text' : 'the text', wanted, found: found.slice(0, MAX_SHOWN) }];

function ofJson(wanted: unknown, { text }: Answer, whole: boolean): Difference[] {
  try {
    return differences(wanted, JSON.parse(text), whole);
  } catch {
    return [{ at: 'the answer', wanted: 'JSON', found: text.slice(0, MAX_SHOWN) }];
  }
}

/** Of a list, the element that comes nearest is compared. */
function ofElement(wanted: unknown, answer: Answer, isLines: boolean): Difference[] {
  const list = isLines ? linesOf(answer.text) : listOf(answer.text);
  if (list.length === 0)
    return [{ at: 'the list', wanted: JSON.stringify(wanted), found: answer.text.slice(0, MAX_SHOWN) }];
  return list
    .map((one) => differences(wanted, one, false))
    .reduce((best, next) => (next.length < best.length ? next : best));
}

/** The whole lines of a stream that are JSON. */
const linesOf = (text: string): unknown[] =>
  text
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as unknown);

function listOf(text: string): unknown[] {
  try {
    const list = JSON.parse(text) as unknown;
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

function ofTime({ atLeastMs = 0, atMostMs = Infinity }: RequestPair, tookMs: number): Difference[] {
  const wanted = `${atLeastMs} to ${atMostMs} ms`;
  return tookMs >= atLeastMs && tookMs <= atMostMs
    ? []
    : [{ at: 'the time', wanted, found: `${tookMs.toFixed(0)} ms` }];
}

/** A job file that is not taken: no success, and why. */
const ofRefusal = (wanted: string, answer: Answer): Difference[] =>
  answer.status === 200
    ? [{ at: 'the file', wanted: `refused: ${wanted}`, found: 'taken' }]
    : ofText(wanted, answer.text, true);
