import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { JobspecError, VolumeFile, type VolumeType } from '@waybill/jobspec';
import { type ExactJson, membersOf, parseExact } from '../terminal/exact-json.js';
import { causeOf, CommandFailure } from '../failure.js';
import { memberOf } from '../jobs/job-file.js';

/** A volume in the API's form. */
export type GivenVolume = { [member: string]: ExactJson };

/** Reads the volume of a file, in HCL or in the API's JSON, or from stdin (`-`) (CL-707). @throws CommandFailure */
export async function readVolumeFile(given: string): Promise<{ type: VolumeType; volume: GivenVolume }> {
  const source = await (given === '-' ? textOf(process.stdin) : readFile(given, 'utf8')).catch((error: unknown) => {
    throw new CommandFailure(`Error reading input: ${causeOf(error)}`);
  });
  if (source.trimStart().startsWith('{')) {
    const members = refusing('Error parsing the volume type', () => membersOf(parseExact(source)));
    return { type: typeOf(memberOf(members, 'Type')), volume: members };
  }
  const name = given === '-' ? 'stdin' : path.basename(given);
  const [file, written] = refusing('Error parsing the volume type', () => {
    const parsed = VolumeFile.of({ name, text: source });
    return [parsed, parsed.type] as const;
  });
  const type = typeOf(written);
  return refusing('Error decoding the volume definition', () => ({ type, volume: membersOf(file.decoded(type)) }));
}

/** Returns the volume's type from the field `type`. @throws CommandFailure */
function typeOf(type: ExactJson | undefined): VolumeType {
  if (typeof type !== 'string' || type === '')
    throw new CommandFailure('Error parsing the volume type: there is no "type"');
  if (type !== 'csi' && type !== 'host') throw new CommandFailure(`Error unknown volume type: ${type}`);
  return type;
}

function refusing<T>(doing: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof JobspecError) throw new CommandFailure(`${doing}: ${error.illustrated}`);
    throw new CommandFailure(`${doing}: ${causeOf(error)}`);
  }
}
