const RULES = new Intl.PluralRules('en', { type: 'ordinal' });
const SUFFIXES: Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> = { one: 'st', two: 'nd', few: 'rd' };

/** Formats an ordinal: `1st`, `2nd`, `3rd`, `11th`, `21st`. */
export const ordinal = (n: number): string => `${n}${SUFFIXES[RULES.select(n)] ?? 'th'}`;
