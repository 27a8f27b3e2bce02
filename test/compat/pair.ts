import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

const headers = z.record(z.string(), z.string());

/**
 * A request and what comes back. Exactly one of `answer` (the whole JSON), `holds` (members that it has at least), `has` (the
 * same of one element of a list), `text` (the whole text) and `says` (a part of the text) is compared; none of them: only
 * status and headers.
 */
const request = z
  .strictObject({
    rule: z.string(),
    what: z.string(),
    send: z.string().regex(/^(GET|PUT|POST|DELETE|HEAD|PATCH) \//),
    headers: headers.optional(),
    body: z.unknown().optional(),
    /** Sent as it stands instead of `body`. */
    raw: z.string().optional(),
    /** Not in the namespace of the run. */
    outside: z.boolean().default(false),
    /** Touches what is not the run's own, such as a machine: played only when that is asked for. */
    disturbs: z.boolean().default(false),
    /** Sent, and answered, while the request is under way: what a blocked read waits for. */
    meanwhile: z.strictObject({ send: z.string(), body: z.unknown().optional() }).optional(),
    /** The answer has no end: it is read until it has what `says` or `has` (of its lines) asks for. */
    streams: z.boolean().default(false),
    /** How long the answer takes, for blocked reads. */
    atLeastMs: z.number().optional(),
    atMostMs: z.number().optional(),
    /** Asked again until the answer is right, for what needs its time. */
    until: z.boolean().default(false),
    status: z.number().int().default(200),
    /** The reference's own status, where Waybill's says whose fault it is (API-36): right too, of any server but ours. */
    reference: z.number().int().optional(),
    answered: headers.optional(),
    answer: z.unknown().optional(),
    holds: z.unknown().optional(),
    has: z.unknown().optional(),
    text: z.string().optional(),
    says: z.string().optional(),
    /** Names for later pairs of the file, by where in the answer they stand: `EvalID`, `0.ID`. */
    keep: z.record(z.string(), z.string()).optional(),
    /** The same, by header. */
    keepHeaders: headers.optional(),
    /** Why this is another answer than the reference's. */
    differs: z.string().optional(),
  })
  .transform((one) => ({ kind: 'request' as const, ...one }));

/** A job of one group with one task, what is put into it, and a part of what validating it says; `says` empty: nothing. */
const validation = z
  .strictObject({
    rule: z.string(),
    job: z.record(z.string(), z.unknown()).optional(),
    group: z.record(z.string(), z.unknown()).optional(),
    task: z.record(z.string(), z.unknown()).optional(),
    says: z.string(),
    differs: z.string().optional(),
  })
  .transform((one) => ({ kind: 'validation' as const, ...one }));

/** An expression of a job file where every type may stand, and its value, or a part of what is wrong with it. */
const expression = z
  .strictObject({
    rule: z.string().default('JS-30'),
    expression: z.string(),
    value: z.unknown().optional(),
    refused: z.string().optional(),
    differs: z.string().optional(),
  })
  .transform((one) => ({ kind: 'expression' as const, ...one }));

/** A job file, and what its job has at least, or a part of what is wrong with it. */
const jobFile = z
  .strictObject({
    rule: z.string(),
    what: z.string(),
    file: z.string(),
    variables: z.string().optional(),
    canonical: z.boolean().default(false),
    holds: z.unknown().optional(),
    refused: z.string().optional(),
    differs: z.string().optional(),
  })
  .transform((one) => ({ kind: 'file' as const, ...one }));

const KINDS = { send: request, expression, file: jobFile };

/** The member that a pair begins with says which kind it is; so what is wrong is said of that kind alone. */
function pairOf(one: Record<string, unknown>): z.ZodSafeParseResult<Pair> {
  const [, schema] = Object.entries(KINDS).find(([name]) => Object.hasOwn(one, name)) ?? [undefined, validation];
  return schema.safeParse(one);
}

export type Pair =
  | z.infer<typeof request>
  | z.infer<typeof validation>
  | z.infer<typeof expression>
  | z.infer<typeof jobFile>;
export type RequestPair = Extract<Pair, { kind: 'request' }>;

/** Pairs that belong together, in their order: one may be about what an earlier one has made. */
export interface Topic {
  readonly name: string;
  readonly pairs: readonly Pair[];
}

/** The whole table: a file for each topic. @throws when a file is no list of pairs */
export function readTopics(directory: string): Topic[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted()
    .map((file) => {
      const list = parse(readFileSync(path.join(directory, file), 'utf8'), { merge: true }) as Record<
        string,
        unknown
      >[];
      const pairs = list.map((one, index) => {
        const read = pairOf(one);
        if (!read.success) throw new Error(`${file}, pair ${index + 1}: ${z.prettifyError(read.error)}`);
        return read.data;
      });
      return { name: path.basename(file, '.yaml'), pairs };
    });
}

/** What a pair is called in a report. */
export function titleOf(one: Pair): string {
  switch (one.kind) {
    case 'request':
    case 'file':
      return `${one.rule}: ${one.what}`;
    case 'validation':
      return `${one.rule}: ${one.says === '' ? 'valid' : one.says} (${JSON.stringify(one.job ?? one.group ?? one.task)})`;
    case 'expression':
      return `${one.rule}: ${JSON.stringify(one.expression)}`;
  }
}
