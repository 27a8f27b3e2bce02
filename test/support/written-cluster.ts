import type { Replica } from '@waybill/replica';
import { Infrastructure, newUuid, readSettings, systemClock } from '@waybill/service';
import { draftTxn, isRejected, serviceActor, type TxnPayloads, type TxnType } from '@waybill/state';
import { silentLogger } from '@waybill/telemetry';
import { type ServiceName, WaybillProcesses } from './waybill-processes.js';

export const nowNs = () => systemClock.nowMs() * 1e6;

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** 0: it names none. */
  readonly index: number;
  readonly nextToken: string | null;
}

/** Services, the API among them, in one process but for those `apart`; a test is all the others, and writes their transactions itself. */
export class WrittenCluster {
  constructor(
    readonly waybill: WaybillProcesses,
    private readonly infrastructure: Infrastructure,
    protected readonly state: Replica,
  ) {}

  static async start(
    services: readonly ServiceName[] = ['projector', 'api'],
    apart: readonly ServiceName[] = [],
  ): Promise<WrittenCluster> {
    return this.over(await WaybillProcesses.startTogether({}, services, apart));
  }

  /** @param waybill is running; the cluster stops it */
  static async over(waybill: WaybillProcesses): Promise<WrittenCluster> {
    const settings = readSettings({ WAYBILL_NATS_URL: waybill.stack.natsUrl, WAYBILL_LOG_LEVEL: 'silent' }, []);
    const infrastructure = new Infrastructure({
      processName: 'test',
      settings,
      logger: silentLogger,
      onFatal: (error) => {
        throw error;
      },
    });
    return new this(waybill, infrastructure, await infrastructure.replica());
  }

  async stop(): Promise<void> {
    await this.infrastructure.close();
    await this.waybill.stop();
  }

  get api() {
    return this.waybill.api;
  }

  /** @returns its index */
  async write<T extends TxnType>(type: T, payload: TxnPayloads[T]): Promise<number> {
    const context = { timeNs: nowNs(), requestId: newUuid(), actor: serviceActor('test'), namespace: 'default' };
    const { index, verdict } = await this.state.propose(draftTxn(type, payload, context));
    if (isRejected(verdict)) throw new Error(`${type}: ${verdict.error}`);
    return index;
  }

  put(path: string, body?: object): Promise<Answer> {
    return this.answer(path, { method: 'PUT', ...(body && { body: JSON.stringify(body) }) });
  }

  get(path: string): Promise<Answer> {
    return this.answer(path);
  }

  private async answer(path: string, init: RequestInit = {}): Promise<Answer> {
    const answer = await this.api.raw(path, init);
    const text = await answer.text();
    const { status, headers } = answer;
    const nextToken = headers.get('X-Nomad-NextToken');
    return { status, text, index: Number(headers.get('X-Nomad-Index') ?? 0), nextToken };
  }
}
