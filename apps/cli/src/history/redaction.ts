import { givenText } from '../access/given-text.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import { mustBeNew, saveSnapshot } from '../operator/saved-snapshot.js';
import { refusal } from '../terminal/confirmation.js';

const REDACTION_PATH = '/v1/waybill/redaction';

export const REDACTION_FLAGS: ServerCommand['flags'] = [
  {
    name: 'redact',
    kind: 'text',
    value: 'file',
    help: 'Remove the value in this file (-: standard input) from the history.',
  },
  { name: 'archive', kind: 'text', value: 'file', help: 'With -redact: a new file for an archive of the state.' },
  { name: 'dry-run', kind: 'switch', help: 'With -redact: only show where the value is.' },
  { name: 'yes', kind: 'switch', help: 'With -redact: do not ask.' },
];

interface Redacted {
  readonly Versions: readonly {
    readonly Namespace: string;
    readonly JobID: string;
    readonly Version: number;
    readonly Places: readonly string[];
  }[];
  readonly Submissions: number;
  readonly Allocations: number;
  readonly Records: number;
  readonly Transactions: number;
  readonly InUse: readonly string[];
  readonly Names: readonly string[];
  readonly Others: readonly { readonly table: string; readonly key: string }[];
}

interface Erased {
  readonly Index: number;
  readonly Found: readonly number[];
}

/** Removes a secret from the history: `waybill log -redact` (docs/secrets.md). */
export async function redactHistory(call: Call): Promise<number> {
  const { api, flags, terminal } = call;
  if (call.args.length > 0) throw new CommandFailure('-redact takes no object: the value is removed everywhere');
  const archive = flags.text('archive');
  const isDry = flags.on('dry-run');
  if (!isDry && archive === undefined)
    throw new CommandFailure(
      'Name a new file with -archive: the log that could rebuild the database is erased, so a copy of the state is saved',
    );
  if (archive !== undefined) mustBeNew(archive);
  const Value = await valueIn(flags.text('redact') ?? '');
  const ask = async <Answer>(path: string, more: object): Promise<Answer> => {
    const { value } = await api.put<Answer>(path, { Value, ...more }).catch((error: unknown) => {
      throw failed('redacting the history', error);
    });
    return value;
  };

  const found = await ask<Redacted>(REDACTION_PATH, { DryRun: true });
  terminal.print(textOf(found));
  const obstacles = [...found.InUse, ...found.Names];
  if (obstacles.length > 0) throw new CommandFailure(obstacleText(found));
  if (isDry || countOf(found) === 0) return 0;
  const question = 'Replace the value, and erase the log and the events before now?';
  const refused = flags.on('yes') ? undefined : await refusal(call, question, 'Nothing was changed');
  if (refused !== undefined) return refused;

  await ask<Redacted>(REDACTION_PATH, { DryRun: false });
  terminal.print('The value is replaced in the state and its history.');
  await saveSnapshot(api, archive ?? '');
  terminal.print(`State file written to ${archive}`);
  const { Index, Found } = await ask<Erased>(`${REDACTION_PATH}/erase`, {});
  terminal.print(`The log and the events before index ${Index} are erased.`);
  if (Found.length > 0) {
    terminal.warn(`The value is in newer transactions (${Found.join(', ')}). Run the command again.`);
    return 1;
  }
  terminal.print(`\n${LEFT_TO_DO}`);
  return 0;
}

const LEFT_TO_DO =
  'Still to do: change the secret; delete older archives and backups of the database; run `waybill system gc`, so ' +
  'that machines remove ended allocations. docs/secrets.md tells what PostgreSQL keeps on its disk.';

async function valueIn(file: string): Promise<string> {
  const text = await givenText(file).catch((error: unknown) => {
    throw failed('reading the value', error);
  });
  return text.replace(/\r?\n$/, '');
}

const countOf = ({ Versions, Submissions, Allocations, Records, Transactions }: Redacted): number =>
  Versions.length + Submissions + Allocations + Records + Transactions;

function textOf(found: Redacted): string {
  const lines = found.Versions.map(
    ({ Namespace, JobID, Version, Places }) => `  ${Namespace}/${JobID} version ${Version}: ${Places.join(', ')}`,
  );
  const others = found.Others.map(({ table, key }) => `  ${table} ${key}`);
  if (countOf(found) === 0 && others.length === 0) return 'The value was not found.';
  return [
    ...(lines.length > 0 ? ['Job versions:', ...lines] : []),
    `Job files: ${found.Submissions}`,
    `Allocations with messages that contain it: ${found.Allocations}`,
    `Records of the history: ${found.Records}`,
    `Transactions in the log: ${found.Transactions}`,
    ...(others.length > 0 ? ['Elsewhere, where this command changes nothing:', ...others] : []),
  ].join('\n');
}

function obstacleText({ InUse, Names }: Redacted): string {
  const inUse =
    InUse.length > 0 ? [...InUse, 'Register the job without the value, or stop it, and wait for the end.'] : [];
  const named = Names.length > 0 ? [...Names, 'A name cannot be replaced.'] : [];
  return ['The value cannot be replaced yet:', ...inUse, ...named].join('\n  ');
}
