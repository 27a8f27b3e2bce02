import type { ReadTable, ObjectHistory, Existence } from './object-history.js';
import type { AccessState } from './access-history.js';
import type { Answer, ReadRequest } from '../world/reading-api.js';
import { seesVariable, type Standing } from './reader.js';
import type { Right } from './policy-texts.js';

/** What there was while an answer was made. */
export interface Objects {
  readonly history: ObjectHistory;
  readonly existence: (table: ReadTable, key: string) => Existence;
}

/** A request, and the judgement of its answer. */
export interface Question {
  readonly request: Omit<ReadRequest, 'credential'>;
  /** Whether the answer is more than a refusal for a reader who stands so. */
  readonly isOpenTo: (standing: Standing, state: AccessState) => boolean;
  /**
   * What is wrong with an answer to a reader who stands so; undefined: nothing. @param standing undefined: their credential
   * is refused
   */
  readonly problemOf: (
    answer: Answer,
    standing: Standing | undefined,
    state: AccessState,
    objects: Objects,
  ) => string | undefined;
}

const statusOtherThan = (wanted: number, { status }: Answer): string | undefined =>
  status === wanted ? undefined : `the answer is ${status} instead of ${wanted}`;

const ALL = '*';

/** A list of the objects of a table. */
interface ListQuestion<Row> {
  readonly request: Question['request'];
  readonly table: ReadTable;
  /** Whether the reader may ask at all; otherwise 403. */
  readonly mayAsk: (standing: Standing, state: AccessState) => boolean;
  readonly maySee: (standing: Standing, row: Row, state: AccessState) => boolean;
  /** Which objects are asked for, by members that never change. */
  readonly isWanted?: (row: Row) => boolean;
  /** Whether all that may be seen must be there; a search may show some of it. */
  readonly isWhole?: boolean;
  /** What an entry is told apart by, in a row and in the answer. */
  readonly nameOf: (row: Row) => string;
  readonly namesIn: (body: unknown) => readonly string[];
}

/** An answer shows nothing that its reader may not see, and hides nothing that they may see. */
export function listQuestion<Row>(question: ListQuestion<Row>): Question {
  const { request, table, mayAsk, maySee, nameOf, namesIn, isWanted = () => true, isWhole = true } = question;
  return {
    request,
    isOpenTo: mayAsk,
    problemOf: (answer, standing, state, { history, existence }) => {
      if (!standing || !mayAsk(standing, state)) return statusOtherThan(403, answer);
      const refused = statusOtherThan(200, answer);
      if (refused !== undefined) return refused;
      const shown = new Set(namesIn(answer.body));
      const allowed = new Set<string>();
      for (const [key, stored] of history.rows(table)) {
        const row = stored as Row;
        const there = existence(table, key);
        if (there === 'never' || !isWanted(row) || !maySee(standing, row, state)) continue;
        const name = nameOf(row);
        allowed.add(name);
        if (isWhole && there === 'always' && !shown.has(name)) return `it hides ${table} ${name}`;
      }
      const leaked = [...shown].find((name) => !allowed.has(name));
      return leaked === undefined ? undefined : `it shows ${table} ${leaked}`;
    },
  };
}

interface ObjectQuestion<Row> {
  readonly request: Question['request'];
  readonly table: ReadTable;
  readonly key: string;
  /** Whether a reader may know that there is no such object; otherwise 403. */
  readonly mayAsk: (standing: Standing) => boolean;
  readonly maySee: (standing: Standing, row: Row) => boolean;
}

/** One object, or what is said of one that is not there: of an object that its reader may not see, the same (OP-142). */
export function objectQuestion<Row>({ request, table, key, mayAsk, maySee }: ObjectQuestion<Row>): Question {
  return {
    request,
    isOpenTo: mayAsk,
    problemOf: (answer, standing, _, { history, existence }) => {
      if (!standing) return statusOtherThan(403, answer);
      const there = existence(table, key);
      const row = history.row(table, key) as Row | undefined;
      const isShown = row !== undefined && there !== 'never' && maySee(standing, row);
      const unseen = mayAsk(standing) ? 404 : 403;
      if (isShown && answer.status === 200) return undefined;
      return isShown && there === 'always' ? statusOtherThan(200, answer) : statusOtherThan(unseen, answer);
    },
  };
}

interface PartsQuestion {
  readonly request: Question['request'];
  readonly right: Right;
  readonly queried: string;
  readonly isWanted: (row: { readonly EvalID: string; readonly DeploymentID: string }) => boolean;
}

/** The allocations that belong to an object: 403 if none of them may be seen, nor the namespace of the request (DP-1213). */
export function partsQuestion({ request, right, queried, isWanted }: PartsQuestion): Question {
  return {
    request,
    isOpenTo: ({ rights }) => rights.has(right, queried),
    problemOf: (answer, standing, _, { history, existence }) => {
      if (!standing) return statusOtherThan(403, answer);
      const names = answer.status === 200 ? identsIn(answer.body) : [];
      for (const id of names) {
        const row = history.row('allocs', id);
        if (!row || !standing.rights.has(right, row.Namespace)) return `it shows allocation ${id}`;
      }
      if (names.length > 0 || standing.rights.has(right, queried)) return statusOtherThan(200, answer);
      const hidden = [...history.rows('allocs')].find(
        ([id, row]) =>
          isWanted(row) && existence('allocs', id) === 'always' && standing.rights.has(right, row.Namespace),
      );
      // An allocation may move to another deployment: whether the answer had to have it is not decided here.
      return hidden ? undefined : statusOtherThan(403, answer);
    },
  };
}

const identsIn = (body: unknown): readonly string[] => entriesOf(body).map(({ ID }) => String(ID));

export const entriesOf = (body: unknown): readonly Record<string, unknown>[] =>
  Array.isArray(body) ? (body as Record<string, unknown>[]) : [];

/** @param namespace one, or the star for all */
export const inNamespaces = (right: Right, namespace: string) => ({
  mayAsk: ({ rights }: Standing): boolean =>
    namespace === ALL ? rights.hasSomewhere(right) : rights.has(right, namespace),
  maySee: ({ rights }: Standing, { Namespace }: { readonly Namespace: string }, state: AccessState): boolean =>
    namespace === ALL ? state.namespaces.includes(Namespace) && rights.has(right, Namespace) : Namespace === namespace,
});

/** Like `inNamespaces`, but a workload needs no rule in its own namespace (AU-176). */
export const inOwnNamespaces = (right: Right, namespace: string) => {
  const byRules = inNamespaces(right, namespace);
  const isOwn = ({ workload }: Standing, asked: string): boolean =>
    workload !== undefined && (asked === ALL || asked === workload.namespace);
  return {
    mayAsk: (standing: Standing): boolean => isOwn(standing, namespace) || byRules.mayAsk(standing),
    maySee: (standing: Standing, row: { readonly Namespace: string }, state: AccessState): boolean =>
      byRules.maySee(standing, row, state) || (namespace === ALL && isOwn(standing, row.Namespace)),
  };
};

export const variablesIn = (namespace: string) => ({
  mayAsk: ({ rights, workload }: Standing): boolean =>
    workload !== undefined || rights.hasVariables(namespace === ALL ? undefined : namespace),
  maySee: (standing: Standing, row: { readonly Namespace: string; readonly Path: string }): boolean =>
    (namespace === ALL || row.Namespace === namespace) && seesVariable(standing, 'list', row.Namespace, row.Path),
});
