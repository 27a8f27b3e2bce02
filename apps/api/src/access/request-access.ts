import { type Requirement, type RequirementContext, satisfies } from '@waybill/acl';
import type { Namespaces } from '@waybill/projection';
import { forbidden, notFound } from '../http/api-error.js';
import type { Caller } from './caller.js';
import type { Need } from './needs.js';

type NamespaceRequirement = Extract<Requirement, { kind: 'namespace' }>;

/** Names of all namespaces that exist. */
export type ExistingNamespaces = () => Promise<readonly string[]>;

const PERMISSION_DENIED = 'Permission denied';

/**
 * What one request may see and do: its caller, held against the need that its route declares. Handlers ask it about the
 * namespaces and names that only they know; each question throws `Refusal` forbidden when the answer is no.
 */
export class RequestAccess {
  private isAsked = false;

  constructor(
    readonly caller: Caller,
    private readonly need: Need,
    /** Namespace that the query names. */
    private readonly queried: string,
    private readonly existing: ExistingNamespaces,
  ) {}

  /** Whether the handler has asked what its route left to it. */
  get asked(): boolean {
    return this.isAsked || this.need.at === 'nowhere' || this.need.at === 'query' || this.need.at === 'path';
  }

  /** The namespace, if the caller has there what the route needs. @throws Refusal forbidden */
  inNamespace(namespace: string): string {
    this.must(this.declared, { namespace });
    return namespace;
  }

  /** The name of a node pool, if the caller has there what the route needs. @throws Refusal forbidden */
  inPool(name: string): string {
    this.must(this.declared, { pool: name });
    return name;
  }

  /** The path of a variable, if the caller has there what the route needs. @throws Refusal forbidden */
  onVariable(namespace: string, path: string): string {
    this.must(this.declared, { namespace, path });
    return path;
  }

  /**
   * An object that was read by its ID: itself where the caller has what the route needs in its namespace. Where not, it is
   * hidden: as unknown, if the caller has the same right in the namespace of the request; else the request is refused,
   * for unknown objects too (OP-141, OP-142).
   * @throws Refusal forbidden
   */
  visible<Row extends { readonly Namespace: string }>(row: Row | undefined): Row | undefined {
    this.isAsked = true;
    if (row && this.has(this.declared, { namespace: row.Namespace })) return row;
    this.must(this.declared, { namespace: this.queried });
    return undefined;
  }

  /**
   * As `visible`, for an object that somebody else will read: callers who may do everything cost no read here.
   * @throws Refusal forbidden; not-found with the text `missing`, when the object is hidden or unknown
   */
  async check<Row extends { readonly Namespace: string }>(
    read: () => Promise<Row | undefined>,
    missing: string,
  ): Promise<void> {
    this.isAsked = true;
    if (this.caller.acl.isManagement()) return;
    if (this.visible(await read()) === undefined) throw notFound(missing);
  }

  /** Those of some rows that `visible` would show. @throws Refusal forbidden as `visible` does, when there are none */
  allVisible<Row extends { readonly Namespace: string }>(rows: readonly Row[]): readonly Row[] {
    const shown = rows.filter(({ Namespace }) => this.has(this.declared, { namespace: Namespace }));
    if (shown.length === 0) this.visible(undefined);
    return shown;
  }

  /**
   * The namespaces of a list, less those in which the caller has not what the route needs (OP-140).
   * @throws Refusal forbidden when none is left, or the one that was asked for is not allowed
   */
  async namespaces(wanted: Namespaces): Promise<Namespaces> {
    const needed = this.declared;
    if (needed.kind !== 'namespace') throw new Error(`the route needs ${needed.kind}, which is about no namespace`);
    return this.namespacesFor(needed, wanted);
  }

  /** As `namespaces`, for a requirement that the route does not declare. @throws Refusal forbidden */
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

  /** What the route needs. A handler that asks about it on a route that needs nothing would let everybody through. */
  private get declared(): Requirement {
    const { requirement } = this.need;
    if (requirement.kind === 'none') throw new Error('the handler asks for a right that its route does not declare');
    return requirement;
  }

  /** Whether the caller has this, beside what the route needs. */
  has(requirement: Requirement, about: RequirementContext = {}): boolean {
    this.isAsked = true;
    return satisfies(this.caller.acl, requirement, { ...about, workload: this.caller.workload });
  }

  /** @throws Refusal forbidden when the caller has not this */
  must(requirement: Requirement, about: RequirementContext = {}): void {
    if (!this.has(requirement, about)) throw forbidden(PERMISSION_DENIED);
  }
}
