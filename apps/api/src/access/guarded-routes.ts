import { describeRequirement, type Requirement } from '@waybill/acl';
import type { LabelPlace, Need, RouteNeeds } from './needs.js';

/** What one route, or one part of it, needs: for documentation, help and the test over all routes. */
export interface GuardedRoute {
  readonly Method: string;
  /** As the router has it: `:name` is one part of a path, `*` the rest. */
  readonly Path: string;
  /** What the last part of the path, or a parameter, adds; `""` where the path says all. */
  readonly Part: string;
  /** In words. */
  readonly Needs: string;
  /** Where the request says what the requirement is about. */
  readonly At: LabelPlace;
  /** Nobody is checked, and a token is not looked at. */
  readonly IgnoresToken: boolean;
  readonly Requirement: Requirement;
}

/** Every route of the server with what it needs, noted as the routes are registered. */
export class GuardedRoutes {
  private readonly routes: GuardedRoute[] = [];

  /** @throws Error: the route does not say what it needs */
  add(method: string | string[], path: string, needs: RouteNeeds | undefined): void {
    if (needs === undefined) throw new Error(`the route ${String(method)} ${path} does not say what it needs`);
    for (const one of [method].flat())
      for (const [part, need] of partsOf(needs)) this.routes.push(described(one, path, part, need));
  }

  /** By path, then part, then method. */
  all(): readonly GuardedRoute[] {
    return this.routes.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }
}

const keyOf = ({ Method, Path, Part }: GuardedRoute): string => JSON.stringify([Path, Part, Method]);

/** Parts that all other paths of the route have are written as `*`. */
const partsOf = (needs: RouteNeeds): readonly (readonly [part: string, need: Need])[] =>
  'parts' in needs ? [...Object.entries(needs.parts), ['*', needs.others]] : [['', needs]];

const described = (Method: string, Path: string, Part: string, need: Need): GuardedRoute => ({
  Method,
  Path,
  Part,
  Needs: describeRequirement(need.requirement),
  At: need.at,
  IgnoresToken: need.ignoresToken ?? false,
  Requirement: need.requirement,
});
