import { z } from 'zod';
import { type ConfigFault, isInterpolated } from '../config-fault.js';

/*
 * Values are converted as the reference converts them: a number or a boolean to a text, and a text that says one to a
 * number or a boolean. Public job files have `privileged = "true"`, and a reference becomes a text when it is replaced.
 */

/** Parses a string. */
export const text = z.unknown().transform(spelt).pipe(z.string());

/** Parses a boolean. */
export const flag = z.preprocess((value) => BOOLEANS.get(value) ?? value, z.boolean());

/** Parses a whole number. @param shape the limits of the number */
export const whole = <S extends z.ZodType>(shape: S) => z.preprocess(numberOf, shape);

const BOOLEANS: ReadonlyMap<unknown, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

function spelt(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
}

function numberOf(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
}

/** Parses a list of strings, such as `args = ["--port", 8080]`. */
export const texts = textsOr();

/** Parses a list of strings, with one message for whatever is wrong. */
export function textsOr(message?: string) {
  return z.array(z.unknown().transform(spelt).pipe(z.string(message)), message);
}

/** Unwraps a block: a job file delivers it as a list with one element. */
const unwrapSingle = (value: unknown): unknown => (Array.isArray(value) && value.length === 1 ? value[0] : value);

/** Parses blocks of one name: a list, or a single one, as JSON jobs may have it. */
export const blocks = <S extends z.ZodType>(shape: S) =>
  z.preprocess((value) => (value === undefined ? value : [value].flat()), z.array(shape).default([]));

export const block = <S extends z.ZodType>(shape: S) => z.preprocess(unwrapSingle, shape).optional();

/** Merges several blocks of the same name into one map. A list with anything else stays as it is. */
export function mergeBlocks(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const blocks: readonly unknown[] = value;
  const isBlock = (one: unknown): one is object => typeof one === 'object' && one !== null && !Array.isArray(one);
  return blocks.every(isBlock) ? Object.fromEntries(blocks.flatMap((one) => Object.entries(one))) : value;
}

export const map = z.preprocess(mergeBlocks, z.record(z.string(), z.coerce.string())).default({});

/** The result of a check: the configuration as a driver reads it, or all faults. */
export type CheckedConfig<T> =
  | { readonly config: T; readonly faults?: never }
  | { readonly faults: readonly ShapeFault[] };

interface ShapeFault extends ConfigFault {
  readonly isUnknownKey?: boolean;
}

/** Checks a configuration by its driver's shape. It reports all faults. A member that is null counts as absent. */
export function checkConfig<S extends z.ZodType>(
  driver: string,
  shape: S,
  config: Readonly<Record<string, unknown>>,
): CheckedConfig<z.output<S>> {
  const parsed = shape.safeParse(withoutNulls(config));
  if (parsed.success) return { config: parsed.data };
  return { faults: parsed.error.issues.flatMap((issue) => faultsOf(driver, issue)) };
}

/** Job files in JSON have null for absent members. Lists keep their elements, so that places stay the same. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const given = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(given.map(([name, member]) => [name, withoutNulls(member)]));
}

function faultsOf(driver: string, issue: z.core.$ZodIssue): ShapeFault[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      path: [...path, key],
      isUnknownKey: true,
      message: `unknown key "${[...path, key].join('.')}" in the configuration of ${driver}`,
    }));
  const [first] = path;
  const isNamed = first === undefined || issue.message.startsWith(first);
  return [{ path, message: isNamed ? issue.message : `${path.join('.')}: ${issue.message}` }];
}

/**
 * Whether a fault may vanish when a machine interpolates the configuration: the value at its path, or the nearest value
 * around it, contains a reference. A key that is missing or unknown stays a fault.
 */
export function mayVanish(
  { path, isUnknownKey = false }: ShapeFault,
  config: Readonly<Record<string, unknown>>,
): boolean {
  if (isUnknownKey) return false;
  let value: unknown = config;
  for (const step of path) {
    if (Array.isArray(value) && value.length === 1 && !Object.hasOwn(value, step)) value = value[0];
    if (typeof value !== 'object' || value === null) break;
    if (!Object.hasOwn(value, step)) return false;
    value = (value as Readonly<Record<string, unknown>>)[step];
  }
  return isInterpolated(value);
}
