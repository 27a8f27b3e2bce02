import type { FoundTexts } from '@waybill/projection';
import type { Job, JobSubmission } from '@waybill/model';
import type { RedactedText, TxnPayloads } from '@waybill/state';
import type { SecretText } from '../secret-text.js';

/** The largest size of a transaction in characters of its JSON, well below the limit of the log. */
export const MAX_REDACTION_CHARS = 2 * 1024 * 1024;

export type Redaction = TxnPayloads['HistoryRedact'];

/** A version of a job with the paths of the texts that a redaction replaces. */
export interface RedactedVersion {
  readonly Namespace: string;
  readonly JobID: string;
  readonly Version: number;
  readonly Places: readonly string[];
}

/** PlannedRedaction has the texts to replace, and the reasons why they cannot be replaced yet. */
export interface PlannedRedaction {
  /** The transactions, each of them small enough for the log. */
  readonly transactions: readonly Redaction[];
  readonly versions: readonly RedactedVersion[];
  /** Job versions in use and allocations that have not ended, in words. */
  readonly inUse: readonly string[];
  /** Names that contain the secret, in words. */
  readonly names: readonly string[];
}

/** Decides how a secret is replaced in the rows that contain it. Pure. */
export function planRedaction(found: FoundTexts, secret: SecretText): PlannedRedaction {
  const versions = new Map<string, Redaction['Versions'][number]>();
  const names = new Set<string>();
  const textsOf = (what: string, row: object): RedactedText[] => {
    const places = secret.places(row);
    for (const path of places.names) names.add(path === '' ? `a name in ${what}` : `a name in ${what} at ${path}`);
    return [...places.texts];
  };
  for (const job of [...found.jobs, ...found.versions, ...found.allocJobs]) {
    const key = JSON.stringify([job.Namespace, job.ID, job.CreateIndex, job.Version]);
    const texts = textsOf(inWords(job), job);
    const known = versions.get(key)?.Texts ?? [];
    const { Namespace, ID: JobID, CreateIndex, Version } = job;
    if (texts.length > 0)
      versions.set(key, { Namespace, JobID, CreateIndex, Version, Texts: distinctTexts([...known, ...texts]) });
  }
  const submissions = found.submissions.map((row) => {
    const { Namespace, JobID, Version, JobModifyIndex } = row;
    return { Namespace, JobID, Version, JobModifyIndex, Texts: textsOf(`the file of ${inWords(idOf(row))}`, row) };
  });
  const allocs = found.allocs.map((row) => ({ ID: row.ID, Texts: textsOf(`allocation "${row.ID}"`, row) }));
  return {
    transactions: inTransactions([...versions.values()], submissions, allocs),
    versions: [...versions.values()].map(({ Namespace, JobID, Version, Texts }) => ({
      Namespace,
      JobID,
      Version,
      Places: Texts.map(({ Path }) => secret.text(Path.join('.'))),
    })),
    inUse: [
      ...found.jobs.filter(({ Status }) => Status !== 'dead').map((job) => `${inWords(job)} is in use`),
      ...found.running.map((id) => `allocation "${id}" has not ended`),
    ],
    names: [...names],
  };
}

const idOf = ({ Namespace, JobID, Version }: JobSubmission) => ({ Namespace, ID: JobID, Version });
const inWords = ({ Namespace, ID, Version }: Pick<Job, 'Namespace' | 'ID' | 'Version'>): string =>
  `version ${Version} of job "${ID}" in namespace "${Namespace}"`;

/** The texts, each path once. */
const distinctTexts = (texts: readonly RedactedText[]): RedactedText[] => [
  ...new Map(texts.map((text) => [JSON.stringify(text.Path), text])).values(),
];

/** Splits the rows into transactions. A single row may be larger, as large as a registration. */
function inTransactions(
  versions: Redaction['Versions'],
  submissions: Redaction['Submissions'],
  allocs: Redaction['Allocs'],
): Redaction[] {
  const transactions: Redaction[] = [];
  let chars = Number.POSITIVE_INFINITY;
  const add = (row: { readonly Texts: readonly RedactedText[] }, put: (to: Redaction) => void): void => {
    if (row.Texts.length === 0) return;
    const more = JSON.stringify(row).length;
    if (chars + more > MAX_REDACTION_CHARS) {
      transactions.push({ Versions: [], Submissions: [], Allocs: [] });
      chars = 0;
    }
    chars += more;
    const last = transactions.at(-1);
    if (last) put(last);
  };
  for (const row of versions) add(row, (to) => to.Versions.push(row));
  for (const row of submissions) add(row, (to) => to.Submissions.push(row));
  for (const row of allocs) add(row, (to) => to.Allocs.push(row));
  return transactions;
}
