import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { type ExactJson, membersOf, parseExact } from './exact-json.js';
import { causeOf, CommandFailure } from './failure.js';

/** A job as its file has it, numbers digit for digit, and the file's text. */
export interface JobFile {
  readonly job: { [member: string]: ExactJson };
  readonly source: string;
}

/** CL-251, CL-252. JSON only: HCL is not read yet. @throws CommandFailure */
export async function readJobFile(path: string): Promise<JobFile> {
  if (path === '') throw new CommandFailure('Error getting job struct: Error jobfile path has to be specified.');
  const source = await sourceOf(path).catch((error: unknown) => {
    throw new CommandFailure(`Error getting job struct: Error getting jobfile from "${path}": ${causeOf(error)}`);
  });
  return { job: parseJob(source, path), source };
}

async function sourceOf(path: string): Promise<string> {
  if (path === '-') return textOf(process.stdin);
  if (!/^https?:\/\//.test(path)) return readFile(path, 'utf8');
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`bad response code: ${answer.status}`);
  return answer.text();
}

/** The job, or the member `Job` of what is around it, its name in any case. @throws CommandFailure */
export function parseJob(source: string, path: string): { [member: string]: ExactJson } {
  if (!source.trimStart().startsWith('{'))
    throw new CommandFailure(
      `Error getting job struct: Error parsing job file from ${path}:\nonly JSON job files are read yet; HCL is not`,
    );
  try {
    const whole = membersOf(parseExact(source));
    const inner = memberOf(whole, 'Job');
    return inner === undefined ? whole : membersOf(inner);
  } catch (error) {
    throw new CommandFailure(`Error getting job struct: Failed to parse JSON job: ${causeOf(error)}`);
  }
}

/** A member by its name in any case, the exact name first. */
export function memberOf(object: { [member: string]: ExactJson }, name: string): ExactJson | undefined {
  if (Object.hasOwn(object, name)) return object[name];
  const key = Object.keys(object).find((k) => k.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : object[key];
}

export function textMember(object: { [member: string]: ExactJson }, name: string): string | undefined {
  const value = memberOf(object, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
