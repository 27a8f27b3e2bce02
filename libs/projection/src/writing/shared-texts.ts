/** Shorter texts are made again as fast as they are found. */
export const MIN_KEPT_LENGTH = 200;

/** What is known of the members of one name. */
interface Slot {
  /** A comma, the quoted name and a colon. */
  readonly opening: string;
  /** The value seen last, and the opening with its JSON. */
  value: unknown;
  text: string;
}

/** Neither quote nor backslash, no control character, nothing beyond ASCII: quoted as it is. */
const PLAIN = /^[ !#-[\]-~]*$/;

/**
 * JSON of one object after the other, exactly as JSON.stringify makes it, where they have much in common: allocations of
 * one plan have the same resources, and an allocation has the same metrics in its event and in its row. A member that is
 * the same as in the object before is not written out again, nor an object that was a member before.
 *
 * For one batch: it keeps what it has seen. Objects must not change meanwhile, and hold nothing but what JSON does.
 * Memory: the texts of members of MIN_KEPT_LENGTH and more. Cost: one look at every member, and JSON.stringify of those
 * that are new.
 */
export class SharedTexts {
  private readonly slots = new Map<string, Slot>();
  private readonly kept = new Map<object, string>();

  /** @param levels how deep members are looked at one by one: 1, those of `object`; names there must be few */
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
