import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { JobspecError, VolumeFile } from '@waybill/jobspec';
import { type ExactJson, membersOf, parseExact } from './exact-json.js';
import { causeOf, CommandFailure } from './failure.js';
import { memberOf } from './job-file.js';

/** A CSI volume as the API takes it. */
export type GivenVolume = { [member: string]: ExactJson };

/** The volume in a file in HCL, or in JSON as the API takes it, or on stdin (`-`) (CL-707). @throws CommandFailure */
export async function readVolumeFile(given: string): Promise<GivenVolume> {
  const source = await (given === '-' ? textOf(process.stdin) : readFile(given, 'utf8')).catch((error: unknown) => {
    throw new CommandFailure(`Error reading input: ${causeOf(error)}`);
  });
  if (source.trimStart().startsWith('{')) {
    const members = refusing('Error parsing the volume type', () => membersOf(parseExact(source)));
    refuseOtherTypes(memberOf(members, 'Type'));
    return members;
  }
  const name = given === '-' ? 'stdin' : path.basename(given);
  const [file, type] = refusing('Error parsing the volume type', () => {
    const parsed = VolumeFile.of({ name, text: source });
    return [parsed, parsed.type] as const;
  });
  refuseOtherTypes(type);
  return refusing('Error decoding the volume definition', () => membersOf(file.decoded('csi')));
}

function refuseOtherTypes(type: ExactJson | undefined): void {
  if (typeof type !== 'string' || type === '')
    throw new CommandFailure('Error parsing the volume type: there is no "type"');
  if (type === 'host') throw new CommandFailure('Error: volumes of type "host" are not made by this command yet');
  if (type !== 'csi') throw new CommandFailure(`Error unknown volume type: ${type}`);
}

function refusing<T>(doing: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof JobspecError) throw new CommandFailure(`${doing}: ${error.illustrated}`);
    throw new CommandFailure(`${doing}: ${causeOf(error)}`);
  }
}
