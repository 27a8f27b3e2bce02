import { isClientTerminal } from '@waybill/model';
import type { ReferenceState } from '../checks/reference-state.js';
import type { Report } from '../checks/violation.js';
import type { Answer, ReadingApi } from '../world/reading-api.js';
import { AccessHistory, type AccessState } from './access-history.js';
import type { IssuedToken } from './access-writes.js';
import { type Existence, ObjectHistory, type ReadTable, Turns } from './object-history.js';
import type { Question } from './questions.js';
import { nameOf, type Reader, type Standing, standingOf } from './reader.js';

/** A moment in an API process: the index up to which it has heard of the log, and its own time. */
export interface Moment {
  readonly heard: number;
  readonly nowMs: number;
}

const READERS = 'readers-see-what-they-may';

/** How a reader may stand at some moment between two, each with the state in which they do. */
export type Possible = readonly (readonly [Standing | undefined, AccessState])[];

/**
 * Judges what readers are answered (docs/simulation.md): an answer shows nothing that its reader may not see, and lacks
 * nothing that they may. What a reader may see is decided by their policies at one index of the log, which is no older than
 * what the API process had heard of when the request came (OP-118).
 */
export class Readers {
  readonly access: AccessHistory;
  readonly objects: ObjectHistory;
  /** Tokens of users, those that are gone included. */
  readonly issued: IssuedToken[] = [];
  /** Event streams that were opened, judged once more at rest. */
  readonly streams: { finish(): void }[] = [];
  /** Answers that were judged, by status; events, and streams that ended. */
  readonly judged = new Map<string, number>();
  /** Whether an allocation is there and not terminal on its client, by ID. One that was lost may come back. */
  private readonly live = new Map<string, Turns>();

  constructor(
    readonly reference: ReferenceState,
    /** Rows that Postgres refused at some time, by table and key. Lists may lack them. */
    private readonly refused: ReadonlySet<string>,
    readonly report: Report,
  ) {
    this.access = new AccessHistory(reference);
    this.objects = new ObjectHistory(reference);
    reference.onApplied(({ index, changes }) => {
      for (const { table, key, after } of changes)
        if (table === 'allocs') this.liveOf(key).note(index, after !== undefined && !isClientTerminal(after));
    });
  }

  momentOf(api: ReadingApi): Moment {
    return { heard: api.feed.applied, nowMs: api.nowMs() };
  }

  count(what: string): void {
    this.judged.set(what, (this.judged.get(what) ?? 0) + 1);
  }

  /** A request without a credential came by the socket of a task, where it is refused whatever it asks for (OP-173). */
  judgeUnauthorized({ status }: Answer): void {
    this.count(String(status));
    if (status !== 401) this.report(READERS, `a task without a credential is answered with ${status} instead of 401`);
  }

  /** @param from when the request came @param until when it was answered @param stored index of Postgres then */
  judge(
    reader: Reader,
    question: Question,
    answer: Answer,
    times: { from: Moment; until: Moment; stored: number },
  ): void {
    const { from, until, stored } = times;
    if (answer.status >= 500) return;
    this.count(String(answer.status));
    const objects = {
      history: this.objects,
      existence: (table: ReadTable, key: string): Existence => {
        const existence = this.objects.existence(table, key, from.heard, stored);
        return existence === 'always' && this.refused.has(`${table} ${key}`) ? 'sometimes' : existence;
      },
    };
    const problems = this.possible(reader, from, until, stored).map(([standing, state]) =>
      question.problemOf(answer, standing, state, objects),
    );
    if (!problems.includes(undefined))
      this.report(READERS, `${nameOf(reader)} asks ${JSON.stringify(question.request)}: ${problems[0]}`);
  }

  /** How a reader stands now, as the log says. */
  standingNow(reader: Reader): readonly [Standing | undefined, AccessState] {
    const state = this.access.newest;
    const alloc = reader.kind === 'workload' ? this.objects.row('allocs', reader.workload.allocId) : undefined;
    return [standingOf(reader, state, alloc), state];
  }

  /** Every way in which a reader may have stood since one moment, the newest first. */
  possible(reader: Reader, from: Moment, until: Moment, stored: number): Possible {
    return this.access
      .between(from.heard, Math.max(from.heard, stored))
      .flatMap((state): Possible => this.standings(reader, state, from, until).map((standing) => [standing, state]));
  }

  private standings(
    reader: Reader,
    state: AccessState,
    from: Moment,
    until: Moment,
  ): readonly (Standing | undefined)[] {
    if (reader.kind === 'workload') return this.standingsOfWorkload(reader, state, from);
    const standing = standingOf(reader, state);
    const expiry = reader.kind === 'token' ? (state.tokens.get(reader.accessor)?.ExpirationTime ?? null) : null;
    if (expiry === null) return [standing];
    const expiresAtMs = Date.parse(expiry);
    if (until.nowMs < expiresAtMs) return [standing];
    return expiresAtMs <= from.nowMs ? [undefined] : [standing, undefined];
  }

  /** Its allocation is read for each request, and may have begun, ended or gone meanwhile. */
  private standingsOfWorkload(
    reader: Extract<Reader, { kind: 'workload' }>,
    state: AccessState,
    { heard }: Moment,
  ): readonly (Standing | undefined)[] {
    const { allocId } = reader.workload;
    const alloc = this.objects.row('allocs', allocId);
    const standing = standingOf(reader, state, alloc && { ...alloc, ClientStatus: 'running' });
    const live = this.liveOf(allocId).over(heard, this.reference.applied.length);
    if (live === 'never') return [undefined];
    return live === 'always' ? [standing] : [standing, undefined];
  }

  private liveOf(allocId: string): Turns {
    const known = this.live.get(allocId) ?? new Turns();
    this.live.set(allocId, known);
    return known;
  }
}
