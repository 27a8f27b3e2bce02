import { type Requirement, type RequirementContext, satisfies } from '@waybill/acl';
import type { Namespaces } from '@waybill/projection';
import { forbidden, notFound } from '../http/api-error.js';
import type { Caller } from './caller.js';
import type { Need } from './needs.js';

type NamespaceRequirement = Extract<Requirement, { kind: 'namespace' }>;

/** Returns the names of all namespaces that exist. */
export type ExistingNamespaces = () => Promise<readonly string[]>;

const PERMISSION_DENIED = 'Permission denied';

/**
 * RequestAccess says what one request may see and do. It checks the caller against the need that the route declares.
 * Handlers ask it about the namespaces and names that only they know. Most questions throw `Refusal` forbidden if the
 * answer is no.
 */
export class RequestAccess {
  private isAsked = false;
  private existingRead: Promise<readonly string[]> | undefined;

  constructor(
    readonly caller: Caller,
    private readonly need: Need,
    /** The namespace that the query names. */
    private readonly queried: string,
    private readonly existing: ExistingNamespaces,
  ) {}

  /** Says whether the handler has checked what its route leaves to it. */
  get asked(): boolean {
    return this.isAsked || this.need.at === 'nowhere' || this.need.at === 'query' || this.need.at === 'path';
  }

  /** Returns the namespace if the caller has the route's need there. @throws Refusal forbidden */
  inNamespace(namespace: string): string {
    this.must(this.declared, { namespace });
    return namespace;
  }

  /** Returns the name of a node pool if the caller has the route's need there. @throws Refusal forbidden */
  inPool(name: string): string {
    this.must(this.declared, { pool: name });
    return name;
  }

  /** Returns the path of a variable if the caller has the route's need there. @throws Refusal forbidden */
  onVariable(namespace: string, path: string): string {
    this.must(this.declared, { namespace, path });
    return path;
  }

  /**
   * Returns an object that was read by its ID if the caller has the route's need in the object's namespace. Otherwise
   * the object is hidden: the result is undefined if the caller has the need in the namespace of the request. If the
   * caller has it in neither, the request is refused, for unknown objects too. [OP-141, OP-142]
   * @throws Refusal forbidden
   */
  visible<Row extends { readonly Namespace: string }>(row: Row | undefined): Row | undefined {
    this.isAsked = true;
    if (row && this.has(this.declared, { namespace: row.Namespace })) return row;
    this.must(this.declared, { namespace: this.queried });
    return undefined;
  }

  /**
   * Checks like `visible`, for an object that another process will read. It reads nothing for callers with all rights.
   * @throws Refusal forbidden; not-found with the text `missing` if the object is hidden or unknown
   */
  async check<Row extends { readonly Namespace: string }>(
    read: () => Promise<Row | undefined>,
    missing: string,
  ): Promise<void> {
    this.isAsked = true;
    if (this.caller.acl.isManagement()) return;
    if (this.visible(await read()) === undefined) throw notFound(missing);
  }

  /**
   * Returns those of the rows that `visible` would show. @throws Refusal forbidden as `visible` does, if there are none
   */
  allVisible<Row extends { readonly Namespace: string }>(rows: readonly Row[]): readonly Row[] {
    const shown = rows.filter(({ Namespace }) => this.has(this.declared, { namespace: Namespace }));
    if (shown.length === 0) this.visible(undefined);
    return shown;
  }

  /**
   * Returns the namespaces of a list without those in which the caller lacks the route's need (OP-140).
   * @throws Refusal forbidden if none is left, or a requested one is not allowed
   */
  async namespaces(wanted: Namespaces): Promise<Namespaces> {
    const needed = this.declared;
    if (needed.kind === 'namespace') return this.namespacesFor(needed, wanted);
    if (needed.kind !== 'anyOf') throw new Error(`the route needs ${needed.kind}, which is about no namespace`);
    this.isAsked = true;
    if (this.caller.acl.isManagement()) return wanted;
    for (const namespace of wanted === '*' ? [wanted] : wanted) this.must(needed, { namespace });
    if (wanted !== '*') return wanted;
    return (await this.existingNamespaces()).filter((namespace) => this.has(needed, { namespace }));
  }

  /** Does the same as `namespaces` for a requirement that the route does not declare. @throws Refusal forbidden */
  async namespacesFor(needed: NamespaceRequirement, wanted: Namespaces): Promise<Namespaces> {
    this.isAsked = true;
    const { acl } = this.caller;
    if (acl.isManagement()) return wanted;
    if (wanted !== '*') {
      for (const namespace of wanted) this.must(needed, { namespace });
      return wanted;
    }
    if (!acl.allowsAnyNamespace(...needed.anyOf)) throw forbidden(PERMISSION_DENIED);
    const allowed = acl.namespacesAllowing(needed.anyOf, await this.existing());
    return allowed === 'all' ? '*' : allowed;
  }

  /**
   * Returns the route's need. It throws on a route that needs nothing, because a handler that asks there would accept
   * every caller.
   */
  private get declared(): Requirement {
    const { requirement } = this.need;
    if (requirement.kind === 'none') throw new Error('the handler asks for a right that its route does not declare');
    return requirement;
  }

  /** Says whether the caller satisfies a requirement, besides the route's need. */
  has(requirement: Requirement, about: RequirementContext = {}): boolean {
    this.isAsked = true;
    return satisfies(this.caller.acl, requirement, { ...about, workload: this.caller.workload });
  }

  /**
   * Says whether the caller satisfies a requirement in at least one existing namespace if the namespace is `*`, and in
   * the named one otherwise. Cost: linear in the existing namespaces.
   */
  async hasSomewhere(requirement: Requirement, about: RequirementContext): Promise<boolean> {
    if (about.namespace !== '*' || this.has(requirement, about)) return this.has(requirement, about);
    return (await this.existingNamespaces()).some((namespace) => this.has(requirement, { ...about, namespace }));
  }

  /** Says whether the caller satisfies a requirement in every existing namespace. Cost: linear in the namespaces. */
  async hasEverywhere(requirement: Requirement): Promise<boolean> {
    if (this.caller.acl.isManagement()) return this.has(requirement);
    const existing = await this.existingNamespaces();
    return existing.length > 0 && existing.every((namespace) => this.has(requirement, { namespace }));
  }

  /** Reads the namespaces once for all questions of a request. */
  private existingNamespaces(): Promise<readonly string[]> {
    this.existingRead ??= this.existing();
    return this.existingRead;
  }

  /** @throws Refusal forbidden if the caller does not satisfy the requirement */
  must(requirement: Requirement, about: RequirementContext = {}): void {
    if (!this.has(requirement, about)) throw forbidden(PERMISSION_DENIED);
  }
}
