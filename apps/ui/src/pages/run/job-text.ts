import type { JobSubmission } from '../../api/contract.js';

/** JobText is a job file with the values of its variables, both as their authors write them. */
export interface JobText {
  readonly source: string;
  /** Values of the variables, a line for each: `image = "redis:7"`. It is empty if the file has none. */
  readonly variables: string;
}

export const NO_TEXT: JobText = { source: '', variables: '' };

/** Returns the text of a submitted job file. The result is undefined if the job was not sent as HCL. */
export function textOfSubmission(
  submission: Pick<JobSubmission, 'Source' | 'Format' | 'Variables' | 'VariableFlags'>,
): JobText | undefined {
  const { Source, Format, Variables, VariableFlags } = submission;
  if (Format !== 'hcl2') return undefined;
  const flags = Object.entries(VariableFlags ?? {}).map(([name, value]) => `${name} = ${quoted(value)}`);
  return { source: Source, variables: [Variables.trimEnd(), ...flags].filter((line) => line !== '').join('\n') };
}

/** Returns a string of HCL that has no templates in it. */
const quoted = (value: string): string => JSON.stringify(value).replaceAll(/[$%]\{/g, (begin) => begin[0] + begin);
