/** Shorter texts are built as fast as they are looked up. */
export const MIN_KEPT_LENGTH = 200;

/** The cached text of the members with one name. */
interface Slot {
  /** A comma, the quoted name and a colon. */
  readonly opening: string;
  /** The last value, and its JSON after the opening. */
  value: unknown;
  text: string;
}

/** Texts that are quoted unchanged: without quote, backslash, control characters and non-ASCII characters. */
const PLAIN = /^[ !#-[\]-~]*$/;

/**
 * Builds the JSON of similar objects one after the other, identical to JSON.stringify: allocations of one plan have the
 * same resources, and an allocation has the same metrics in its event and in its row. A member that equals that of the
 * previous object is not built again.
 *
 * For a single batch, because it keeps what it has seen. Objects must not change meanwhile, and must contain only JSON.
 * Memory: the texts of members from MIN_KEPT_LENGTH on. Cost: one comparison of every member, and JSON.stringify of new
 * ones.
 */
export class SharedTexts {
  private readonly slots = new Map<string, Slot>();
  private readonly kept = new Map<object, string>();

  /** @param levels depth to which members are compared one by one: 1 for those of `object`, whose names must be few */
  textOf(object: object, levels = 1): string {
    const members = object as Readonly<Record<string, unknown>>;
    let text = '';
    for (const name in members) {
      const value = members[name];
      if (value === undefined) continue;
      const slot = this.slots.get(name) ?? this.slotOf(name);
      const member =
        levels > 1 && isObject(value) ? slot.opening + this.textOf(value, levels - 1) : this.memberText(slot, value);
      text = text === '' ? `{${member.slice(1)}` : text + member;
    }
    return text === '' ? '{}' : `${text}}`;
  }

  private memberText(slot: Slot, value: unknown): string {
    if (value === slot.value) return slot.text;
    slot.value = value;
    slot.text =
      slot.opening + (typeof value === 'object' && value !== null ? this.nestedText(value) : primitiveText(value));
    return slot.text;
  }

  private slotOf(name: string): Slot {
    const slot = { opening: `,${JSON.stringify(name)}:`, value: undefined, text: '' };
    this.slots.set(name, slot);
    return slot;
  }

  private nestedText(value: object): string {
    const known = this.kept.get(value);
    if (known !== undefined) return known;
    const text = JSON.stringify(value);
    if (text.length >= MIN_KEPT_LENGTH) this.kept.set(value, text);
    return text;
  }
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function primitiveText(value: unknown): string {
  if (typeof value === 'string' && PLAIN.test(value)) return `"${value}"`;
  return JSON.stringify(value);
}
