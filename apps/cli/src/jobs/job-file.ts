import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { type ExactJson, membersOf, parseExact } from '../terminal/exact-json.js';
import { causeOf, CommandFailure } from '../failure.js';
import { NotUtf8, utf8Text } from '../terminal/utf8-text.js';

/** The source of a job, which is sent along so that users can read it later (CL-255). */
export interface Submission {
  readonly Source: string;
  readonly Format: 'hcl2' | 'json';
  readonly VariableFlags: Record<string, string>;
  readonly Variables: string;
}

/** A job from a file. Numbers of JSON are kept digit for digit. */
export interface JobFile {
  readonly job: { [member: string]: ExactJson };
  readonly submission: Submission;
  /** The name of the file in messages. */
  readonly name: string;
}

/** Reads the text of a job file (CL-251, JS-10). @throws CommandFailure */
export async function readJobText(path: string): Promise<string> {
  if (path === '') throw new CommandFailure('Error jobfile path has to be specified.');
  try {
    return utf8Text(await bytesOf(path));
  } catch (error) {
    const what =
      error instanceof NotUtf8 ? `Error parsing job file from ${path}:\n` : `Error getting jobfile from "${path}": `;
    throw new CommandFailure(what + causeOf(error));
  }
}

async function bytesOf(path: string): Promise<Buffer> {
  if (path === '-') return buffer(process.stdin);
  if (!/^https?:\/\//.test(path)) return readFile(path);
  const answer = await fetch(path).catch((error: unknown) => Promise.reject(reasonOf(error)));
  if (!answer.ok) throw new Error(`bad response code: ${answer.status}`);
  return Buffer.from(await answer.arrayBuffer());
}

/**
 * Returns the reason of a failed fetch, which is nested below "fetch failed", and below one error for each address of a
 * name.
 */
function reasonOf(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors[0];
  return error instanceof Error && error.cause instanceof Error ? reasonOf(error.cause) : error;
}

/** Decodes a job, or the member `Job` of an enclosing object, its name in any case (CL-252). @throws CommandFailure */
export function jobFromJson(source: string): { [member: string]: ExactJson } {
  try {
    const whole = membersOf(parseExact(source));
    const inner = memberOf(whole, 'Job');
    return inner === undefined ? whole : membersOf(inner);
  } catch (error) {
    throw new CommandFailure(`Error getting job struct: Failed to parse JSON job: ${causeOf(error)}`);
  }
}

/** Returns a member by its name in any case. The exact name precedes others. */
export function memberOf(object: { [member: string]: ExactJson }, name: string): ExactJson | undefined {
  if (Object.hasOwn(object, name)) return object[name];
  const key = Object.keys(object).find((k) => k.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : object[key];
}

export function textMember(object: { [member: string]: ExactJson }, name: string): string | undefined {
  const value = memberOf(object, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
