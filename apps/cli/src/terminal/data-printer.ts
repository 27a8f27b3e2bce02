import type { Flag } from '../flags/flag.js';
import { CommandFailure, causeOf } from '../failure.js';
import { type ExactJson, formatExact, plainOf } from './exact-json.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';
import type { Terminal } from './terminal.js';

const JSON_FLAG: Flag = { name: 'json', kind: 'switch', help: 'Print the objects of the API as JSON.' };
/** The flag `-json` of a command that reads JSON. */
export const JSON_OUTPUT_FLAG: Flag = {
  name: 'json-output',
  kind: 'switch',
  help: "Print the API's answer as JSON.",
};
export const TEMPLATE_FLAG: Flag = {
  name: 't',
  kind: 'text',
  value: 'template',
  help: 'Print the objects of the API by this Go template.',
};

/** Flags of every command that can print data for programs instead of text (CL-159). */
export const DATA_FLAGS: readonly Flag[] = [JSON_FLAG, TEMPLATE_FLAG];

/** Prints objects of the API as data. @throws CommandFailure if the template does not fit them */
export type DataPrinter = (data: ExactJson) => void;

/**
 * Returns the printer for `-json` or `-t`, or undefined for text. Templates are loaded only if one is used.
 * @throws CommandFailure if both flags are given or the template is invalid (CL-159, CL-160, CL-323)
 */
export async function dataPrinter(
  accepted: readonly Flag[],
  flags: ParsedFlags,
  terminal: Terminal,
): Promise<DataPrinter | undefined> {
  if (!accepted.includes(TEMPLATE_FLAG)) return undefined;
  const ownName = accepted.includes(JSON_OUTPUT_FLAG);
  const json = flags.on(ownName ? 'json-output' : 'json');
  const template = flags.text('t');
  if (template === undefined) return json ? (data) => terminal.print(formatExact(data)) : undefined;
  if (json)
    throw new CommandFailure(
      ownName
        ? 'Both -json-output and -t formatting are not allowed'
        : 'Both json and template formatting are not allowed',
    );
  const rendered = await renderer(template);
  return (data) => terminal.print(rendered(data));
}

/** Returns a template as a function of its data. @throws CommandFailure */
export async function renderer(template: string): Promise<(data: ExactJson) => string> {
  const { Template } = await import('@waybill/gotemplate');
  const failing = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw new CommandFailure(`Error formatting the data: ${causeOf(error)}`);
    }
  };
  const parsed = failing(() => new Template(template, { missingKey: 'error' }));
  return (data) => failing(() => parsed.execute(plainOf(data)));
}
