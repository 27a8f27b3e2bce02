/**
 * What stands in a right answer for a value that is another one in every run. Whatever an answer has to be normalised by
 * is here and nowhere else.
 */
const PLACEHOLDERS: Readonly<Record<string, (value: unknown) => boolean>> = {
  '<any>': () => true,
  // Of headers.
  '<none>': (value) => value === null,
  '<bool>': (value) => typeof value === 'boolean',
  '<uuid>': (value) =>
    typeof value === 'string' && /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(value),
  '<index>': (value) => Number.isSafeInteger(value) && (value as number) > 0,
  '<int>': (value) => Number.isInteger(value),
  // Nanoseconds of this century.
  '<time>': (value) => typeof value === 'number' && value > 1.6e18 && value < 4.2e18,
  '<rfc3339>': (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
  '<text>': (value) => typeof value === 'string' && value !== '',
  '<list>': (value) => Array.isArray(value) && value.length > 0,
  '<object>': (value) => isObject(value) && Object.keys(value).length > 0,
};

/** One difference, where in the answer and which. */
export interface Difference {
  readonly at: string;
  readonly wanted: string;
  readonly found: string;
}

/**
 * Where an answer is another one than the right one. A text of PLACEHOLDERS in the right one stands for any such value.
 * @param whole false: objects may have members that the right answer does not name; lists always have the same length
 */
export function differences(wanted: unknown, found: unknown, whole: boolean, at = '$'): Difference[] {
  if (typeof wanted === 'string' && Object.hasOwn(PLACEHOLDERS, wanted))
    return PLACEHOLDERS[wanted]?.(found) ? [] : [difference(at, wanted, found)];
  if (Array.isArray(wanted)) {
    if (!Array.isArray(found) || found.length !== wanted.length) return [difference(at, wanted, found)];
    return wanted.flatMap((one, index) => differences(one, found[index], whole, `${at}[${index}]`));
  }
  if (!isObject(wanted)) return Object.is(wanted, found) ? [] : [difference(at, wanted, found)];
  if (!isObject(found)) return [difference(at, wanted, found)];
  const surplus = whole ? Object.keys(found).filter((name) => !Object.hasOwn(wanted, name)) : [];
  return [
    ...Object.entries(wanted).flatMap(([name, one]) =>
      Object.hasOwn(found, name)
        ? differences(one, found[name], whole, `${at}.${name}`)
        : [{ at: `${at}.${name}`, wanted: shown(one), found: 'not there' }],
    ),
    ...surplus.map((name) => ({ at: `${at}.${name}`, wanted: 'not there', found: shown(found[name]) })),
  ];
}

/** The value at `EvalID` or `0.ID` of an answer; undefined: there is none. */
export function valueAt(answer: unknown, place: string): unknown {
  return place
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        Array.isArray(value)
          ? value[Number(name)]
          : isObject(value) && Object.hasOwn(value, name)
            ? value[name]
            : undefined,
      answer,
    );
}

const MAX_SHOWN = 300;

const difference = (at: string, wanted: unknown, found: unknown): Difference => ({
  at,
  wanted: shown(wanted),
  found: shown(found),
});

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
