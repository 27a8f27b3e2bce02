import { BlockDecoder } from './decoding/block-decoder.js';
import { canonicaliseParsedJob } from './decoding/canonicalise-job.js';
import { jobSchema } from './decoding/job-schema.js';
import type { JsonObject } from './decoding/json.js';
import { Evaluator } from './evaluation/evaluator.js';
import { Scope } from './evaluation/scope.js';
import { StepBudget } from './evaluation/step-budget.js';
import type { FileAccess } from './functions/file-functions.js';
import { functionTable } from './functions/functions.js';
import { MAX_SOURCE_BYTES } from './limits.js';
import { Locals } from './locals.js';
import { nearest } from './nearest-name.js';
import { parseBody } from './syntax/body-parser.js';
import { type Diagnostic, JobspecError } from './syntax/diagnostic.js';
import { SourceText } from './syntax/source-text.js';
import type { Block, Body } from './syntax/syntax-tree.js';
import { checkVariable } from './variable-validation.js';
import { VariableValues } from './variable-values.js';
import { type Variable, VariableDeclarations } from './variables.js';

export interface TextFile {
  /** Name of the file in messages. */
  readonly name: string;
  readonly text: string;
}

export interface JobSource {
  readonly file: TextFile;
  /** In increasing precedence (JS-75). */
  readonly variableFiles?: readonly TextFile[];
  /** Values by name, without the prefix of the environment variable. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Values as `name=value`. */
  readonly flags?: readonly string[];
  /** Whether values for undeclared variables are errors (JS-78). */
  readonly strict?: boolean;
  readonly canonicalise?: boolean;
  /** File access of the file functions. Without it, they are errors (JS-90). */
  readonly files?: FileAccess;
}

export interface ParsedJob {
  readonly job: JsonObject;
  readonly variables: ReadonlyMap<string, Variable>;
}

/** Top-level blocks and their numbers of labels (JS-70). */
const TOP_LEVEL: ReadonlyMap<string, number> = new Map([
  ['variable', 1],
  ['variables', 0],
  ['locals', 0],
  ['job', 1],
]);

/** Parses a job file into the API's job, in the stages of JS-1. @throws JobspecError */
export function parseJob(source: JobSource): ParsedJob {
  const parsed = syntaxOf(source);
  checkTopLevel(parsed.file);
  const budget = new StepBudget();
  const { scope, evaluator, variables } = namesOf(parsed, source, budget);
  const job = decodedJob(parsed.file, evaluator, scope);
  return { job: source.canonicalise === true ? canonicaliseParsedJob(job) : job, variables };
}

/** Stage 1: parses the files. An error of a variable file is reported before one of the job file (JS-77). */
function syntaxOf({ file, variableFiles = [] }: JobSource): { file: Body; variableFiles: Body[] } {
  for (const { name, text } of [file, ...variableFiles]) checkSize(name, text);
  refuseJson(file);
  const files = variableFiles.map(({ name, text }) => {
    try {
      return parseBody(new SourceText(name, text));
    } catch (error) {
      if (error instanceof JobspecError) throw error.within('unable to parse var content: ');
      throw error;
    }
  });
  return { file: parseBody(new SourceText(file.name, file.text)), variableFiles: files };
}

function checkSize(name: string, text: string): void {
  // A UTF-16 unit has at most three bytes in UTF-8, so short texts need no counting.
  if (text.length * 3 <= MAX_SOURCE_BYTES || new TextEncoder().encode(text).length <= MAX_SOURCE_BYTES) return;
  throw new JobspecError([{ summary: 'File too large', detail: `${name} is longer than ${MAX_SOURCE_BYTES} bytes.` }]);
}

/** Refuses JSON: neither HCL's JSON profile nor the API's JSON is supported here (JS-6). */
function refuseJson({ name, text }: TextFile): void {
  const source = new SourceText(name, text);
  const start = source.text.search(/\S/u);
  if (source.text.charAt(start) !== '{') return;
  throw new JobspecError([
    {
      summary: 'JSON instead of HCL',
      detail: 'A job file in JSON is the job as the API takes it: run it with -json, or send it to /v1/jobs.',
      at: { source, span: { start, end: start + 1 } },
    },
  ]);
}

/** Stage 2: checks the top-level blocks (JS-70). */
function checkTopLevel({ source, attributes, blocks }: Body): void {
  const diagnostics: Diagnostic[] = attributes.map(({ name, nameSpan }) => ({
    summary: 'Unsupported argument',
    detail: `An argument named "${name}" is not expected here.${TOP_LEVEL.has(name) ? ` Did you mean to define a block of type "${name}"?` : ''}`,
    at: { source, span: nameSpan },
  }));
  for (const block of blocks) for (const item of topLevelBlock(block)) diagnostics.push(item);
  const [first, second] = blocks.filter(({ type }) => type === 'job');
  if (first && second)
    diagnostics.push({
      summary: 'Duplicate job block',
      detail: `Only one block of type "job" is allowed. Previous definition was at ${source.rangeOf(first.headerSpan)}.`,
      at: { source, span: second.headerSpan },
    });
  if (!first && diagnostics.length === 0)
    diagnostics.push({ summary: 'Missing job block', detail: 'A job block is required' });
  refuseAny(diagnostics);
}

function topLevelBlock({ type, typeSpan, labels, openSpan, body: { source } }: Block): Diagnostic[] {
  const wanted = TOP_LEVEL.get(type);
  if (wanted === undefined) {
    const near = nearest(type, TOP_LEVEL.keys());
    const hint = near === undefined ? '' : ` Did you mean "${near}"?`;
    return [
      {
        summary: 'Unsupported block type',
        detail: `Blocks of type "${type}" are not expected here.${hint}`,
        at: { source, span: typeSpan },
      },
    ];
  }
  if (labels.length < wanted)
    return [
      {
        summary: `Missing name for ${type}`,
        detail: `All ${type} blocks must have 1 labels (name).`,
        at: { source, span: openSpan },
      },
    ];
  const extra = labels[wanted];
  if (!extra) return [];
  const expected = wanted === 0 ? 'No labels' : 'Only 1 labels (name)';
  return [
    {
      summary: `Extraneous label for ${type}`,
      detail: `${expected} are expected for ${type} blocks.`,
      at: { source, span: extra.span },
    },
  ];
}

/** Stage 3: evaluates variables, their validations, and locals. */
function namesOf(
  { file, variableFiles }: { file: Body; variableFiles: readonly Body[] },
  source: JobSource,
  budget: StepBudget,
): { scope: Scope; evaluator: Evaluator; variables: ReadonlyMap<string, Variable> } {
  const diagnostics: Diagnostic[] = [];
  const report = (found: readonly Diagnostic[]): void => {
    for (const item of found) diagnostics.push(item);
  };
  const evaluator = new Evaluator(functionTable(source.files), budget);
  const declarations = new VariableDeclarations(budget, report);
  const locals = new Locals(evaluator, report);
  for (const block of file.blocks) {
    if (block.type === 'variable') declarations.add(block);
    if (block.type === 'variables') declarations.addAll(block);
    if (block.type === 'locals') locals.add(block);
  }
  refuseAny(diagnostics);
  const { variables } = declarations;
  const values = new VariableValues(variables, budget, source.strict ?? false, report);
  values.environment(source.environment ?? {});
  for (const body of variableFiles) values.file(body);
  values.flags(source.flags ?? []);
  const { object, origins } = values.settled();
  refuseAny(diagnostics);
  const scope = Scope.EMPTY.with([['var', object]]);
  for (const [name, given] of origins) {
    const variable = variables.get(name);
    if (variable) collect(report, () => checkVariable(variable, given, scope, evaluator));
  }
  refuseAny(diagnostics);
  const local = locals.settled(scope);
  refuseAny(diagnostics);
  return { scope: scope.with([['local', local]]), evaluator, variables };
}

/** Stages 4 to 6: decodes the job. */
function decodedJob(file: Body, evaluator: Evaluator, scope: Scope): JsonObject {
  const [block] = file.blocks.filter(({ type }) => type === 'job');
  if (!block) throw new RangeError('a file without a job passed the check for it');
  const decoder = new BlockDecoder(evaluator);
  const job = decoder.decode(jobSchema, { ...block, scope }, '$label');
  refuseAny(decoder.diagnostics);
  if (decoder.freeformDiagnostics.length > 0) throw new JobspecError(decoder.freeformDiagnostics, true);
  return job;
}

function collect(report: (found: readonly Diagnostic[]) => void, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof JobspecError)) throw error;
    report(error.diagnostics);
  }
}

/** Throws all diagnostics of a stage, in the order of the file (JS-191). */
function refuseAny(diagnostics: readonly Diagnostic[]): void {
  if (diagnostics.length === 0) return;
  throw new JobspecError(diagnostics.toSorted((a, b) => (a.at?.span.start ?? 0) - (b.at?.span.start ?? 0)));
}
