import type { Selector } from './expression.js';
import { FilterEvaluationError } from './filter-error.js';
import { isFloatMember, isFreeform, isHidden, isListMember, isMapMember } from './member-kinds.js';

export type ValueKind = 'nil' | 'string' | 'bool' | 'int' | 'float' | 'list' | 'map' | 'struct';

/** A value inside an object, with its kind, which follows from its place. */
export class FoundValue {
  constructor(
    readonly json: unknown,
    /** Name of the member that holds the value. Empty for elements of lists and values of maps. */
    private readonly name: string,
    private readonly inFreeform: boolean,
  ) {}

  /** Wraps an object of the domain. */
  static root(object: object): FoundValue {
    return new FoundValue(object, '', false);
  }

  /** Wraps a key of a map or a position of a list. */
  static scalar(value: string | number): FoundValue {
    return new FoundValue(value, '', false);
  }

  get kind(): ValueKind {
    const { json, name } = this;
    if (json === null || json === undefined) return isMapMember(name) ? 'map' : isListMember(name) ? 'list' : 'nil';
    if (Array.isArray(json)) return 'list';
    switch (typeof json) {
      case 'string':
        return 'string';
      case 'boolean':
        return 'bool';
      case 'number':
        return isFloatMember(name) || !Number.isInteger(json) ? 'float' : 'int';
      default:
        return this.inFreeform || isMapMember(name) ? 'map' : 'struct';
    }
  }

  /** Elements of a list. */
  get elements(): readonly FoundValue[] {
    const { json } = this;
    return Array.isArray(json) ? json.map((element: unknown) => new FoundValue(element, '', this.isOpen)) : [];
  }

  get keys(): readonly string[] {
    return Object.keys(this.members);
  }

  has(key: string): boolean {
    return Object.hasOwn(this.members, key);
  }

  /** Returns the value of an existing key. */
  valueOf(key: string): FoundValue {
    return new FoundValue(this.members[key], '', this.isOpen);
  }

  member(name: string): FoundValue | undefined {
    const value = this.members[name];
    if (!Object.hasOwn(this.members, name) || isHidden(name, value)) return undefined;
    return new FoundValue(value, name, this.inFreeform);
  }

  private get isOpen(): boolean {
    return this.inFreeform || isFreeform(this.name);
  }

  private get members(): Readonly<Record<string, unknown>> {
    return typeof this.json === 'object' && this.json !== null ? (this.json as Record<string, unknown>) : {};
  }
}

/** Names that quantifiers have bound. The innermost binding wins. */
export type Bindings = ReadonlyMap<string, FoundValue>;

/**
 * Returns the value of a selector, or undefined if its map does not have the key (API-70).
 * @throws FilterEvaluationError for an unknown field, a position beyond the list, or a path through null
 */
export function find(selector: Selector, root: FoundValue, bindings: Bindings): FoundValue | undefined {
  const [first = '', ...below] = selector.parts;
  const bound = bindings.get(first);
  let found = bound ?? root;
  const parts = bound ? below : selector.parts;
  for (const [at, part] of parts.entries()) {
    const fail = (why: string): never => {
      throw new FilterEvaluationError(
        `error finding value in datum: /${selector.parts.join('/')} at part ${at}: ${why}`,
      );
    };
    switch (found.kind) {
      case 'struct':
        found = found.member(part) ?? fail(`couldn't find key: struct field with name ${JSON.stringify(part)}`);
        break;
      case 'map':
        if (found.has(part)) found = found.valueOf(part);
        else if (at === parts.length - 1) return undefined;
        else fail(`couldn't find key ${JSON.stringify(part)}`);
        break;
      case 'list': {
        const element = /^\d+$/.test(part) ? found.elements[Number(part)] : fail(`${JSON.stringify(part)} is no index`);
        found = element ?? fail(`index ${part} is out of range`);
        break;
      }
      case 'nil':
        fail('the value above is nil');
        break;
      default:
        fail(`a ${found.kind} has no members`);
    }
  }
  return found;
}
