import { logOfAgent } from '../agent/agent-log.js';
import type { ApiClient } from '../server/api-client.js';
import { causeOf, isInterrupt } from '../failure.js';
import { type ExactJson, formatExact } from '../terminal/exact-json.js';
import type { DebugFolder } from './debug-folder.js';
import type { DebugOptions } from './debug-options.js';
import { CLUSTER_PAGES, type DebugPage, INTERVAL_PAGES } from './debug-pages.js';
import type { DebugTargets } from './debug-targets.js';

/** Most objects of a list in memory. A longer list is written line by line. */
const PAGE_OBJECTS = 1_000;
/** Most bytes of one log or the event stream. The rest is left out. */
const MAX_STREAM_BYTES = 256 << 20;

export interface DebugTools {
  readonly api: ApiClient;
  readonly folder: DebugFolder;
  readonly nowMs: () => number;
  /** Waits. Rejects with an AbortError if the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly note: (text: string) => void;
}

/**
 * Captures the state of a cluster for a while (CL-807): pages once, lists and metrics at intervals, logs and events all
 * the time. started → over (after the duration, or by `end`) → written. A file that cannot be captured contains the
 * reason, and the capture goes on. Cost: one page of a list in memory. It reads one list at a time from the server, and
 * in parallel one log of each node and server.
 */
export class DebugCapture {
  private readonly over = new AbortController();
  /** This client's requests are aborted when the capture is over. */
  private readonly api: ApiClient;

  constructor(
    private readonly options: DebugOptions,
    private readonly targets: DebugTargets,
    private readonly tools: DebugTools,
  ) {
    this.api = tools.api.until(this.over.signal);
  }

  get isOver(): boolean {
    return this.over.signal.aborted;
  }

  /** Ends the capture early. The files captured so far are kept. */
  end(): void {
    this.over.abort();
  }

  async captureAll(): Promise<void> {
    const { note } = this.tools;
    note('Capturing cluster data...');
    for (const page of CLUSTER_PAGES) await this.page(['cluster'], page);
    const streams = this.streams();
    await this.intervals();
    this.end();
    await Promise.all(streams);
  }

  private async intervals(): Promise<void> {
    const { durationMs, intervalMs } = this.options;
    const { nowMs, sleep, note } = this.tools;
    const startMs = nowMs();
    for (let n = 0; n * intervalMs < durationMs && !this.isOver; n++) {
      const name = String(n).padStart(4, '0');
      note(`Capturing interval ${name}`);
      for (const page of INTERVAL_PAGES) await this.page(['interval', name], page);
      const untilMs = startMs + Math.min((n + 1) * intervalMs, durationMs);
      await sleep(Math.max(0, untilMs - nowMs()), this.over.signal).catch(ifOver);
    }
  }

  /** Starts all streams that are followed until the end. None of them rejects. */
  private streams(): Promise<void>[] {
    const { nodes, servers } = this.targets;
    return [
      ...servers.flatMap((name) => this.machine(['server', name], { server_id: name })),
      ...nodes.flatMap(({ ID }) => this.machine(['client', ID], { node_id: ID })),
      this.events(),
    ];
  }

  private machine(place: readonly string[], who: Readonly<Record<string, string>>): Promise<void>[] {
    const { logLevel, logLocation } = this.options;
    const query = { ...who, log_level: logLevel, log_include_location: logLocation };
    const host = { name: 'agent-host', path: '/v1/agent/host', query: who };
    return [this.follow([...place, 'monitor.log'], () => logOfAgent(this.api, query)), this.page(place, host)];
  }

  private async events(): Promise<void> {
    const { topics, eventIndex } = this.options;
    if (topics.length === 0) return;
    const query = { topic: topics, index: eventIndex, namespace: '*' };
    const open = async function* (api: ApiClient): AsyncGenerator<Uint8Array> {
      yield* (await api.stream('/v1/event/stream', query)).body;
    };
    await this.follow(['cluster', 'eventstream.json'], () => open(this.api));
  }

  private async follow(place: readonly string[], open: () => AsyncIterable<Uint8Array>): Promise<void> {
    const { folder } = this.tools;
    let bytes = 0;
    try {
      await folder.append(place, '');
      for await (const piece of open()) {
        bytes += piece.byteLength;
        if (bytes > MAX_STREAM_BYTES) return await folder.missing(place, 'the rest was too long');
        await folder.append(place, piece);
      }
    } catch (error) {
      if (!this.isOver) await folder.missing(place, causeOf(error));
    }
  }

  private async page(place: readonly string[], page: DebugPage): Promise<void> {
    const { folder } = this.tools;
    const file = [...place, `${page.name}.json`];
    try {
      if (page.list) await this.list(place, page);
      else await folder.json(file, (await this.api.get(page.path, page.query)).exact);
    } catch (error) {
      await folder.missing(file, isInterrupt(error) ? 'the capture was ended before' : causeOf(error));
    }
  }

  /** Writes one JSON file, or one object per line if there are more objects than fit into memory. */
  private async list(place: readonly string[], { name, path, query }: DebugPage): Promise<void> {
    const { folder } = this.tools;
    let token: string | undefined;
    do {
      const { exact, nextToken } = await this.api.get(path, { ...query, per_page: PAGE_OBJECTS, next_token: token });
      if (token === undefined && nextToken === '') return folder.json([...place, `${name}.json`], exact);
      await folder.append([...place, `${name}.ndjson`], linesOf(exact));
      token = nextToken;
    } while (token !== '');
  }
}

const linesOf = (list: ExactJson): string =>
  Array.isArray(list) ? list.map((one) => `${formatExact(one, 0)}\n`).join('') : '';

/** Ignores the abort of a wait. */
function ifOver(error: unknown): void {
  if (!isInterrupt(error)) throw error;
}
