import { describeRequirement, type Requirement } from '@waybill/acl';
import type { LabelPlace, Need, RouteNeeds } from './needs.js';

/**
 * GuardedRoute says what one route, or one part of it, needs. Documentation, help and the test over all routes use it.
 */
export interface GuardedRoute {
  readonly Method: string;
  /** The path as the router has it: `:name` is one part of a path, `*` is the rest. */
  readonly Path: string;
  /**
   * The value of the last part of the path, or of a parameter, to which the need belongs. It is `""` if the path alone
   * decides.
   */
  readonly Part: string;
  /** The need in words. */
  readonly Needs: string;
  /** The place in the request that names the object of the requirement. */
  readonly At: LabelPlace;
  /** Is true if the route does not check its caller and ignores a token. */
  readonly IgnoresToken: boolean;
  readonly Requirement: Requirement;
}

/** GuardedRoutes collects every route of the server with its needs as the routes are registered. */
export class GuardedRoutes {
  private readonly routes: GuardedRoute[] = [];

  /** @throws Error if the route does not declare its needs */
  add(method: string | string[], path: string, needs: RouteNeeds | undefined): void {
    if (needs === undefined) throw new Error(`the route ${String(method)} ${path} does not say what it needs`);
    for (const one of [method].flat())
      for (const [part, need] of partsOf(needs)) this.routes.push(described(one, path, part, need));
  }

  /** Returns all routes, ordered by path, then part, then method. */
  all(): readonly GuardedRoute[] {
    return this.routes.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }
}

const keyOf = ({ Method, Path, Part }: GuardedRoute): string => JSON.stringify([Path, Part, Method]);

/** The part `*` stands for the parts that the route does not list. */
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
