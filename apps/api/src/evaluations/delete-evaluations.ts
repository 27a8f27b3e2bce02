import type { TransactionWriter } from '@waybill/writing';
import { type Allocation, DecodeError, type Evaluation, type Job } from '@waybill/model';
import type { EvaluationListOptions, Listed, Namespaces } from '@waybill/projection';
import { type EvalDeleteResult, isSafeToDelete, namespacedKey, type TxnPayloads } from '@waybill/state';
import { badRequest, notFound, conflict } from '../http/api-error.js';
import { asObject, memberOf, stringOf } from '../http/json-members.js';
import { ListFilter } from '../http/list-filter.js';
import type { Requester } from '../http/requester.js';
import type { BrokerInquiry } from '../operator/broker-inquiry.js';

/** The largest number of IDs in one request. They fit into one transaction (API-191). */
export const MAX_EVALS_BY_ID = 7_281;
/** The number of evaluations that one transaction deletes by filter (EB-305). */
export const EVALS_PER_TRANSACTION = 728;
/** The number of evaluations that are checked at the same time. */
const LOOKUPS_AT_ONCE = 16;

const NOT_PAUSED = 'eval broker is enabled; eval broker must be paused to delete evals';

export type DeleteEvaluationsRequest =
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'filter'; readonly text: string };

export interface Deleted {
  readonly Count: number;
  /** The index of the last transaction; 0 if there was none. */
  readonly Index: number;
}

/** DeletionLookup has the reads of the read model that deleting needs. */
export interface DeletionLookup {
  schedulerConfiguration(): Promise<{ readonly row: { readonly PauseEvalBroker: boolean } | undefined }>;
  evaluation(id: string): Promise<{ readonly row: Evaluation | undefined }>;
  evaluations(options: EvaluationListOptions): Promise<Listed<Evaluation>>;
  evalAllocations(id: string): Promise<{ readonly rows: readonly Allocation[] }>;
  job(namespace: string, id: string): Promise<{ readonly row: Job | undefined }>;
}

/** Decodes a request to delete evaluations, by ID or by filter (API-191). @throws Refusal invalid, DecodeError */
export function readDeleteRequest(json: unknown): DeleteEvaluationsRequest {
  const body = asObject(json, 'EvalDeleteRequest');
  const ids = idsOf(memberOf(body, 'EvalIDs'));
  const text = stringOf(body, 'Filter');
  if (ids.length > 0 && text !== '') throw badRequest('evals cannot be deleted by both ID and filter');
  if (ids.length === 0 && text === '') throw badRequest('evals must be deleted by either ID or filter');
  if (text !== '') return { kind: 'filter', text };
  if (ids.length > MAX_EVALS_BY_ID)
    throw badRequest(`request includes ${ids.length} evaluation IDs, must be ${MAX_EVALS_BY_ID} or fewer`);
  return { kind: 'ids', ids };
}

function idsOf(given: unknown): string[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw DecodeError.wrongType(given, 'EvalIDs', '[]string');
  return given.map((id: unknown) => {
    if (typeof id !== 'string') throw DecodeError.wrongType(id, 'EvalIDs', 'string');
    return id.toLowerCase();
  });
}

/**
 * DeleteEvaluations deletes evaluations for an operator while the broker is paused (EB-302 to EB-307). By ID it deletes
 * all or none. By filter it deletes page by page, each page in one transaction. It asks the broker whether it is
 * paused, and every copy of the state checks it again when it applies the deletion.
 */
export class DeleteEvaluations {
  constructor(
    private readonly read: DeletionLookup,
    private readonly writer: TransactionWriter,
    private readonly inquiry: Pick<BrokerInquiry, 'enabledAt'>,
  ) {}

  /**
   * @param gone is aborted when the client no longer waits; then no further page begins
   * @throws Refusal
   */
  async delete(
    request: DeleteEvaluationsRequest,
    namespaces: Namespaces,
    requester: () => Requester,
    gone: AbortSignal,
  ): Promise<Deleted> {
    await this.refuseUnlessPaused();
    if (request.kind === 'ids') return this.byIds([...new Set(request.ids)], requester());
    return this.byFilter(request.text, namespaces, requester, gone);
  }

  private async refuseUnlessPaused(): Promise<void> {
    if (!(await this.read.schedulerConfiguration()).row?.PauseEvalBroker) throw conflict(NOT_PAUSED);
    if (await this.inquiry.enabledAt(0)) throw conflict(NOT_PAUSED);
  }

  private async byIds(ids: readonly string[], requester: Requester): Promise<Deleted> {
    const jobs = new Map<string, Promise<Job | undefined>>();
    const jobOf = ({ Namespace, JobID }: Evaluation): Promise<Job | undefined> => {
      const key = namespacedKey(Namespace, JobID);
      const job = jobs.get(key) ?? this.read.job(Namespace, JobID).then(({ row }) => row);
      jobs.set(key, job);
      return job;
    };
    for (let i = 0; i < ids.length; i += LOOKUPS_AT_ONCE)
      await Promise.all(ids.slice(i, i + LOOKUPS_AT_ONCE).map((id) => this.refuseUnlessSafe(id, jobOf)));
    const { Count, Index } = await this.write({ EvalIDs: [...ids] }, requester);
    return { Count, Index };
  }

  private async refuseUnlessSafe(id: string, jobOf: (of: Evaluation) => Promise<Job | undefined>): Promise<void> {
    const { row } = await this.read.evaluation(id);
    if (!row) throw notFound('eval not found');
    const job = await jobOf(row);
    const allocs = job ? (await this.read.evalAllocations(id)).rows : [];
    if (!isSafeToDelete(job, () => allocs)) throw conflict(`eval ${id} is not safe to delete`);
  }

  private async byFilter(
    text: string,
    namespaces: Namespaces,
    requester: () => Requester,
    gone: AbortSignal,
  ): Promise<Deleted> {
    const filter = ListFilter.parse(text);
    const { rows } = await this.read.evaluations({ namespaces, keep: filter.certainCondition(), perPage: 1 });
    const [first] = rows;
    if (!first) return { Count: 0, Index: 0 };
    const deleted = { Count: 0, Index: 0 };
    let token = `${first.CreateIndex}.${first.ID}`;
    while (token !== '' && !gone.aborted) {
      const { Count, Index, NextToken } = await this.write(
        {
          Filter: text,
          PerPage: EVALS_PER_TRANSACTION,
          NextToken: token,
          Namespace: namespaces === '*' ? '' : (namespaces[0] ?? ''),
        },
        requester(),
      );
      deleted.Count += Count;
      deleted.Index = Index;
      token = NextToken;
    }
    return deleted;
  }

  private async write(
    what: Partial<TxnPayloads['EvalDelete']>,
    requester: Requester,
  ): Promise<EvalDeleteResult & { readonly Index: number }> {
    const payload = { EvalIDs: [], AllocIDs: [], ScanIndex: 0, UserInitiated: true, ...what };
    const { index, result } = await this.writer.write({ type: 'EvalDelete', payload }, requester.author);
    return { ...(isResult(result) ? result : { Count: 0, NextToken: '' }), Index: index };
  }
}

const isResult = (result: unknown): result is EvalDeleteResult =>
  typeof result === 'object' && result !== null && 'Count' in result && 'NextToken' in result;
