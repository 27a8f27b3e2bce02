import { KeyServiceError } from '../key-service-error.js';

/** The largest number of characters that an error repeats from the service's own message. */
const MAX_WORDS = 200;
const OK = 200;

export interface TransitAnswer {
  readonly status: number;
  readonly text: string;
}

/** Returns one object of a good answer, empty if it is missing. @throws KeyServiceError with the service's reason */
export function answerData(
  { status, text }: TransitAnswer,
  operation: string,
  member: string,
): Readonly<Record<string, unknown>> {
  if (status !== OK) throw new KeyServiceError(failureOf({ status, text }, operation));
  return objectOf(objectOf(parsed(text))[member]);
}

/** Describes an answer that is no success, in one line. */
export function failureOf({ status, text }: TransitAnswer, operation: string): string {
  const words = wordsOf(parsed(text));
  return `the key management service answered ${status} to ${operation}${words && `: ${words}`}`;
}

export const isGood = ({ status }: TransitAnswer): boolean => status === OK;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

/** Returns the reasons that an answer gives, in one line. */
function wordsOf(said: unknown): string {
  const { errors } = objectOf(said);
  const words = Array.isArray(errors) ? errors.filter((error) => typeof error === 'string').join('; ') : '';
  return words.replace(/\s+/g, ' ').trim().slice(0, MAX_WORDS);
}
