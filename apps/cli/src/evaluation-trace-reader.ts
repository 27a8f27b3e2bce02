import type { Allocation, AllocListStub, AllocMetric } from '@waybill/model';
import { headerText } from './api-client.js';
import { isNotFound } from './api-failure.js';
import type { Call } from './command-spec.js';
import type { EvaluationAnswer } from './evaluation-table.js';
import { slowestAllocations, type TraceSources } from './evaluation-trace.js';
import { failed } from './failure.js';
import { readLog } from './log-query.js';
import type { TxnRecord } from './log-record.js';

/** Records of one object that are looked at: an evaluation has a handful. */
const MAX_RECORDS = 1_000;
/** Histories of allocations that are asked for at the same time. */
const AT_ONCE = 5;

/** Reads what the trace of an evaluation is made of: its history, its allocations and theirs, its deployment's. */
export class EvaluationTraceReader {
  constructor(
    private readonly call: Pick<Call, 'api'>,
    /** Of every allocation, and not of the slowest only. */
    private readonly allAllocations: boolean,
  ) {}

  /** @throws CommandFailure */
  async read(evalId: string): Promise<TraceSources> {
    const { value: records, floor } = await this.history('eval', evalId);
    const evaluation = await this.evaluation(evalId);
    const placed = evaluation ? await this.allocations(evalId) : [];
    const allocs = this.allAllocations ? placed : slowestAllocations(placed);
    const [first] = allocs;
    const deployment = evaluation?.DeploymentID;
    return {
      evalId,
      evaluation,
      records,
      floor,
      allocs,
      allocRecords: await this.allocationHistories(allocs),
      metrics: first ? await this.metricsOf(first.ID) : undefined,
      deploymentRecords: deployment ? (await this.history('deployment', deployment)).value : [],
    };
  }

  private async history(kind: string, id: string): Promise<{ value: readonly TxnRecord[]; floor: number }> {
    const page = await readLog(this.call.api, { kind, id, reverse: true, per_page: MAX_RECORDS });
    return { value: page.value ?? [], floor: Number(headerText(page.headers, 'x-waybill-log-floor')) };
  }

  private async evaluation(id: string): Promise<EvaluationAnswer | undefined> {
    try {
      return (await this.call.api.get<EvaluationAnswer>(`/v1/evaluation/${id}`, { related: true })).value;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw failed('querying evaluation', error);
    }
  }

  private async allocations(evalId: string): Promise<readonly AllocListStub[]> {
    const { value } = await this.call.api
      .get<AllocListStub[] | null>(`/v1/evaluation/${evalId}/allocations`)
      .catch((error: unknown) => {
        throw failed('querying allocations', error);
      });
    return value ?? [];
  }

  private async allocationHistories(allocs: readonly AllocListStub[]): Promise<Map<string, readonly TxnRecord[]>> {
    const found = new Map<string, readonly TxnRecord[]>();
    for (let from = 0; from < allocs.length; from += AT_ONCE) {
      const some = allocs.slice(from, from + AT_ONCE);
      const histories = await Promise.all(some.map(({ ID }) => this.history('alloc', ID)));
      for (const [at, { value }] of histories.entries()) found.set(some[at]?.ID ?? '', value);
    }
    return found;
  }

  /** Of an allocation that may be collected meanwhile. */
  private async metricsOf(id: string): Promise<AllocMetric | undefined> {
    try {
      return (await this.call.api.get<Pick<Allocation, 'Metrics'>>(`/v1/allocation/${id}`)).value.Metrics ?? undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw failed('querying allocation', error);
    }
  }
}
