import type { PolicyMeaning, Right, VariableMeaning } from './policy-texts.js';

type Granted = ReadonlySet<Right>;

/**
 * What somebody with these policies may see, straight from their meanings and the rules of the contract (OP-123, OP-124,
 * OP-131, OP-132, OP-135, OP-139): the judgement that answers of the API are compared with. It shares no code with it.
 */
export class Rights {
  private readonly namespaces = new Map<string, Granted>();
  private readonly variables = new Map<string, VariableMeaning>();
  readonly readsNodes: boolean;

  constructor(policies: readonly PolicyMeaning[]) {
    this.readsNodes = policies.some(({ readsNodes }) => readsNodes);
    const denied = new Set<string>();
    for (const [label, granted] of policies.flatMap(({ namespaces = {} }) => Object.entries(namespaces))) {
      if (granted === 'deny') denied.add(label);
      const before = this.namespaces.get(label) ?? [];
      this.namespaces.set(label, new Set([...before, ...(granted === 'deny' ? [] : granted)]));
    }
    for (const label of denied) this.namespaces.set(label, new Set());
    for (const rule of policies.flatMap(({ variables = [] }) => variables)) {
      const name = JSON.stringify([rule.namespace, rule.path]);
      const before = this.variables.get(name)?.grants;
      // A rule without a grant denies, and what others grant to the same path is gone.
      const isDenied = rule.grants.length === 0 || before?.length === 0;
      this.variables.set(name, { ...rule, grants: isDenied ? [] : [...(before ?? []), ...rule.grants] });
    }
  }

  /** Whether the right is granted in a namespace, which is one and no pattern. */
  has(right: Right, namespace: string): boolean {
    return this.grantedIn(namespace)?.has(right) ?? false;
  }

  /** Whether some label grants it, which a list of all namespaces needs (OP-140). */
  hasSomewhere(right: Right): boolean {
    return [...this.namespaces.values()].some((granted) => granted.has(right));
  }

  /** Whether the existence of the namespace may be known (OP-139). */
  knows(namespace: string): boolean {
    return (this.grantedIn(namespace)?.size ?? 0) > 0;
  }

  onVariable(grant: 'list' | 'read', namespace: string, path: string): boolean {
    const rules = [...this.variables.values()];
    const exact = rules.find((rule) => rule.namespace === namespace && rule.path === path);
    const closest = rules
      .filter((rule) => fits(rule.namespace, namespace) && fits(rule.path, path))
      .toSorted((a, b) => closeness(b) - closeness(a))[0];
    return (exact ?? closest)?.grants.includes(grant) ?? false;
  }

  /** Whether a rule is about this very variable; it decides even over what a workload may do without any (OP-137). */
  hasExactRule(namespace: string, path: string): boolean {
    return [...this.variables.values()].some((rule) => rule.namespace === namespace && rule.path === path);
  }

  /** Whether some rule grants something about the variables of a namespace, or of any. */
  hasVariables(namespace?: string): boolean {
    return [...this.variables.values()].some(
      (rule) => rule.grants.length > 0 && (namespace === undefined || fits(rule.namespace, namespace)),
    );
  }

  private grantedIn(namespace: string): Granted | undefined {
    const exact = this.namespaces.get(namespace);
    if (exact) return exact;
    const fitting = [...this.namespaces.keys()].filter((label) => label.endsWith('*') && fits(label, namespace));
    const [closest = ''] = fitting.toSorted((a, b) => b.length - a.length);
    return this.namespaces.get(closest);
  }
}

/** A label may end in a star. */
const fits = (label: string, name: string): boolean =>
  label.endsWith('*') ? name.startsWith(label.slice(0, -1)) : label === name;

const closeness = ({ namespace, path }: VariableMeaning): number => (namespace + path).replaceAll('*', '').length;
