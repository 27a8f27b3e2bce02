import { badRequest } from '../http/api-error.js';
import type { Allocation, CSIPlugin, Namespace, Node, NodePool } from '@waybill/model';
import type { JobWithSummary, Listed, ListOptions, Namespaces, ReadModel } from '@waybill/projection';
import { FuzzyMatches, type FuzzyMatch, MIN_TERM_LENGTH } from './fuzzy-matches.js';
import { JOB_PARTS, type JobPart, type Named, namesOf } from './fuzzy-names.js';
import type { PrefixSearch } from './prefix-search.js';
import type { SearchContext } from './search-contexts.js';
import type { SearchScope } from './search-scopes.js';

export interface FuzzyResult {
  readonly index: number;
  readonly matches: Record<string, readonly FuzzyMatch[]>;
  readonly truncations: Record<string, boolean>;
}

/** The contexts whose objects have no name but their ID. The text must be its beginning there. */
const BY_PREFIX: readonly SearchContext[] = [
  'deployment',
  'evals',
  'scaling_policy',
  'vars',
  'volumes',
  'host_volumes',
];

/**
 * FuzzySearch finds objects by any part of their name (API-252, API-253). The answer omits contexts without a match. It
 * has no state. Cost: one pass over the objects of each context, a chunk of rows at a time. Memory is bounded.
 */
export class FuzzySearch {
  constructor(
    private readonly model: ReadModel,
    private readonly byPrefix: PrefixSearch,
  ) {}

  /** @throws Refusal invalid if the text is too short */
  async findByText(text: string, scopes: readonly SearchScope[]): Promise<FuzzyResult> {
    if (text.length < MIN_TERM_LENGTH)
      throw badRequest(`fuzzy search query must be at least ${MIN_TERM_LENGTH} characters, got ${text.length}`);
    const matches: Record<string, readonly FuzzyMatch[]> = {};
    const truncations: Record<string, boolean> = {};
    let index = 1;
    const addMatches = (context: string, at: number, found: FuzzyMatches): void => {
      index = Math.max(index, at);
      if (found.best.length === 0) return;
      matches[context] = found.best;
      truncations[context] = found.truncated;
    };
    for (const scope of scopes) {
      const { context, namespaces } = scope;
      if (context === 'jobs') {
        const { at, parts } = await this.matchJobs(text, namespaces);
        for (const part of JOB_PARTS) addMatches(part, at, parts[part]);
      } else if (BY_PREFIX.includes(context)) {
        const prefix = await this.byPrefix.findByPrefix(text, [scope]);
        index = Math.max(index, prefix.index);
        if ((prefix.matches[context] ?? []).length === 0) continue;
        matches[context] = (prefix.matches[context] ?? []).map((ID) => ({ ID }));
        truncations[context] = prefix.truncations[context] ?? false;
      } else {
        const found = new FuzzyMatches(text);
        addMatches(context, await this.named(scope, (named) => found.addName(named)), found);
      }
    }
    return { index, matches, truncations };
  }

  private async matchJobs(
    text: string,
    namespaces: Namespaces,
  ): Promise<{ readonly at: number; readonly parts: Record<JobPart, FuzzyMatches> }> {
    const found = (): FuzzyMatches => new FuzzyMatches(text);
    const parts = {
      jobs: found(),
      groups: found(),
      services: found(),
      tasks: found(),
      images: found(),
      commands: found(),
      classes: found(),
    };
    const at = await visitRows<JobWithSummary>(
      (options) => this.model.jobs({ namespaces, ...options }),
      ({ job }) => {
        for (const [part, named] of namesOf(job)) parts[part].addName(named);
      },
    );
    return { at, parts };
  }

  /** Offers every object of a context. Resolves with the index of the answer. */
  private named({ context, namespaces, shows }: SearchScope, offer: (named: Named) => void): Promise<number> {
    const { model } = this;
    switch (context) {
      case 'allocs':
        return visitRows<Allocation>(
          (options) => model.allocations({ namespaces, ...options }),
          ({ Name, Namespace, ID }) => offer({ name: Name, scope: [Namespace, ID] }),
        );
      case 'nodes':
        return visitRows<Node>(
          (options) => model.nodes(options),
          ({ Name, ID }) => offer({ name: Name, scope: [ID] }),
        );
      case 'namespaces':
        return visitRows<Namespace>(
          (options) => model.namespaces(options),
          ({ Name }) => shows(Name) && offer({ name: Name, scope: [] }),
        );
      case 'node_pools':
        return visitRows<NodePool>(
          (options) => model.nodePools(options),
          ({ Name }) => shows(Name) && offer({ name: Name, scope: [] }),
        );
      case 'plugins':
        return visitRows<CSIPlugin>(
          (options) => model.volumes.plugins(options),
          ({ ID }) => offer({ name: ID, scope: [] }),
        );
      default:
        return Promise.resolve(1);
    }
  }
}

/** Offers every row of a list and keeps none. */
async function visitRows<Row>(
  list: (options: ListOptions<Row>) => Promise<Listed<Row>>,
  see: (row: Row) => void,
): Promise<number> {
  const visitRow = (row: Row): boolean => {
    see(row);
    return false;
  };
  return (await list({ perPage: 1, keep: visitRow })).index;
}
