import type { Listed, Namespaces, ReadModel } from '@waybill/projection';
import { uuidPrefixOf } from '../http/query-string.js';
import type { SearchScope } from './search-scopes.js';

/** The largest number of matches per context in an answer (API-250). */
export const MAX_MATCHES_PER_CONTEXT = 20;

export interface SearchResult {
  readonly index: number;
  readonly matches: Record<string, readonly string[]>;
  readonly truncations: Record<string, boolean>;
}

interface UuidListOptions {
  readonly perPage: number;
  readonly prefix: string;
  readonly namespaces: Namespaces;
}

/**
 * PrefixSearch finds objects by the beginning of their ID or name (API-250). It has no state. Cost: one short statement
 * per context.
 */
export class PrefixSearch {
  constructor(private readonly model: ReadModel) {}

  async findByPrefix(prefix: string, scopes: readonly SearchScope[]): Promise<SearchResult> {
    const matches: Record<string, readonly string[]> = {};
    const truncations: Record<string, boolean> = {};
    let index = 1;
    for (const scope of scopes) {
      const { context } = scope;
      const found = await this.searchScope(scope, prefix);
      index = Math.max(index, found.index);
      matches[context] = exactFirst(found.rows, prefix);
      truncations[context] = found.nextToken !== '';
    }
    return { index, matches, truncations };
  }

  private async searchScope(scope: SearchScope, prefix: string): Promise<Listed<string>> {
    const { context, namespaces, shows, showsVariable } = scope;
    const { model } = this;
    const page = { perPage: MAX_MATCHES_PER_CONTEXT };
    const named = { ...page, prefix };
    const byUuid = async <Row extends { readonly ID: string }>(
      list: (options: UuidListOptions) => Promise<Listed<Row>>,
    ): Promise<Listed<string>> => {
      const begins = uuidPrefixOf(prefix);
      return begins === undefined ? NONE : idsOf(await list({ ...page, prefix: begins, namespaces }), ({ ID }) => ID);
    };
    switch (context) {
      case 'allocs':
        return byUuid((options) => model.allocations(options));
      case 'evals':
        return byUuid((options) => model.evaluations(options));
      case 'deployment':
        return byUuid((options) => model.deployments(options));
      case 'nodes':
        return byUuid((options) => model.nodes(options));
      case 'jobs':
        return idsOf(await model.jobs({ ...named, namespaces }), ({ job }) => job.ID);
      case 'namespaces':
        return idsOf(await model.namespaces({ ...named, keep: ({ Name }) => shows(Name) }), ({ Name }) => Name);
      case 'node_pools':
        return idsOf(await model.nodePools({ ...named, keep: ({ Name }) => shows(Name) }), ({ Name }) => Name);
      case 'plugins':
        return idsOf(await model.volumes.plugins(named), ({ ID }) => ID);
      case 'volumes':
        return idsOf(await model.volumes.list({ ...named, namespaces }), ({ volume }) => volume.ID);
      case 'host_volumes':
        return idsOf(await model.volumes.hostVolumes({ ...named, namespaces }), ({ ID }) => ID);
      case 'scaling_policy':
        return byUuid((options) => model.scaling.policies(options));
      case 'vars':
        return idsOf(
          await model.variables.variables({
            ...named,
            namespaces,
            keep: ({ Namespace, Path }) => showsVariable(Namespace, Path),
          }),
          ({ Path }) => Path,
        );
    }
  }
}

const NONE: Listed<string> = { index: 1, rows: [], nextToken: '' };

const idsOf = <Row>({ index, rows, nextToken }: Listed<Row>, id: (row: Row) => string): Listed<string> => ({
  index,
  nextToken,
  rows: rows.map(id),
});

const exactFirst = (ids: readonly string[], exact: string): readonly string[] =>
  ids.includes(exact) ? [exact, ...ids.filter((id) => id !== exact)] : ids;
