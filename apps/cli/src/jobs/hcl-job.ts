import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  JobspecError,
  mergedVariableTexts,
  type ParsedJob,
  parseJob,
  takesText,
  type TextFile,
} from '@waybill/jobspec';
import { causeOf, CommandFailure } from '../failure.js';
import { membersOf } from '../terminal/exact-json.js';
import { localFiles } from './local-files.js';
import type { JobFile, Submission } from './job-file.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';
import { NotUtf8, utf8Text } from '../terminal/utf8-text.js';

/** Prefixes of variables in the environment (JS-75). The second one wins. */
const ENVIRONMENT_PREFIXES = ['NOMAD_VAR_', 'WAYBILL_VAR_'];

/**
 * Reads a job file in HCL, with the variables of flags, files and environment (CL-252, CL-253). @throws CommandFailure
 */
export function readHclJob(given: string, source: string, flags: ParsedFlags): JobFile {
  const assignments = flags.list('var');
  const environment = variablesOf(process.env);
  const name = given === '-' ? 'stdin' : path.basename(given);
  try {
    const variableFiles = flags.list('var-file').map(readVariableFile);
    const parsed = parseJob({
      file: { name, text: source },
      variableFiles,
      environment,
      flags: assignments,
      strict: flags.on('hcl2-strict') || !flags.given('hcl2-strict'),
      files: localFiles,
    });
    const job = membersOf(parsed.job);
    return {
      job,
      name,
      submission: submissionOf(source, parsed, variableFiles, { ...environment, ...assigned(assignments) }),
    };
  } catch (error) {
    if (!(error instanceof JobspecError)) throw error;
    throw new CommandFailure(`Error parsing job file from ${given}:\n${error.illustrated}`);
  }
}

/** Reads a variable file (JS-77). */
function readVariableFile(file: string): TextFile {
  try {
    return { name: file, text: utf8Text(readFileSync(file)) };
  } catch (error) {
    const refusal =
      error instanceof NotUtf8
        ? { summary: error.summary, detail: error.detail }
        : { summary: 'Failed to read file', detail: `failed to read "${file}": ${causeOf(error)}` };
    throw new JobspecError([refusal]).within('unable to parse var file: ');
  }
}

function variablesOf(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const found: Record<string, string> = {};
  for (const prefix of ENVIRONMENT_PREFIXES) {
    for (const [name, value] of Object.entries(env)) {
      if (name.startsWith(prefix) && value !== undefined) found[name.slice(prefix.length)] = value;
    }
  }
  return found;
}

/** Splits `name=value` at the first `=` (JS-80). */
function assigned(assignments: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    assignments
      .filter((one) => one.includes('='))
      .map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)]),
  );
}

/**
 * Builds the submission (JS-223). Values that are plain texts are sent as flags, and expressions as text of a variable
 * file.
 */
function submissionOf(
  source: string,
  { variables }: ParsedJob,
  files: readonly TextFile[],
  values: Readonly<Record<string, string>>,
): Submission {
  const isExpression = (name: string): boolean => {
    const variable = variables.get(name);
    return variable !== undefined && !takesText(variable) && variable.type?.kind !== 'bool';
  };
  const entries = Object.entries(values);
  const expressions = entries.filter(([name]) => isExpression(name)).map(([name, value]) => `${name} = ${value}\n`);
  const given = expressions.length === 0 ? [] : [{ name: 'values', text: expressions.join('') }];
  const texts = mergedVariableTexts([...files, ...given]);
  const fromFiles = texts
    .slice(0, files.length)
    .map((text) => `${text}\n`)
    .join('');
  return {
    Source: source,
    Format: 'hcl2',
    VariableFlags: Object.fromEntries(entries.filter(([name]) => !isExpression(name))),
    Variables: [fromFiles, ...texts.slice(files.length)].join('\n'),
  };
}
