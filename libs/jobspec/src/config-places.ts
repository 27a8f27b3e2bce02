import type { TextFile } from './parse-job.js';
import { parseBody } from './syntax/body-parser.js';
import { type Diagnostic, JobspecError } from './syntax/diagnostic.js';
import { SourceText, type Span } from './syntax/source-text.js';
import type { Block, Body } from './syntax/syntax-tree.js';

/** ConfigFaultOfTask says what is wrong with the `config` block of a task. */
export interface ConfigFaultOfTask {
  readonly TaskGroup: string;
  readonly Task: string;
  /** The keys, the labels and the positions in lists that lead to the wrong value. */
  readonly Path: readonly string[];
  readonly Message: string;
}

/**
 * Returns an error that shows each fault at its line of a job file (PG-42). A fault in a block that a `dynamic` block
 * generates has the place of the nearest block around it that is in the file.
 * @throws JobspecError if the file is no HCL
 */
export function placedConfigFaults(file: TextFile, faults: readonly ConfigFaultOfTask[]): JobspecError {
  const source = new SourceText(file.name, file.text);
  const body = parseBody(source);
  return new JobspecError(
    faults.map(({ TaskGroup, Task, Path, Message }): Diagnostic => {
      const span = spanOf(body, TaskGroup, Task, Path);
      const summary = `Invalid config of task "${Task}" in group "${TaskGroup}"`;
      return { summary, detail: `${Message}${/[.!?]$/.test(Message) ? '' : '.'}`, at: span && { source, span } };
    }),
  );
}

function spanOf(file: Body, groupName: string, taskName: string, path: readonly string[]): Span | undefined {
  const job = file.blocks.find(({ type }) => type === 'job');
  if (!job) return undefined;
  const group = labelled(job.body, 'group', groupName);
  // A task directly in a job makes a group of its own name.
  const task = group ? labelled(group.body, 'task', taskName) : labelled(job.body, 'task', taskName);
  if (!task) return (group ?? job).headerSpan;
  const config = task.body.blocks.find(({ type }) => type === 'config');
  return config ? (spanInside(config.body, path) ?? config.typeSpan) : task.headerSpan;
}

const labelled = ({ blocks }: Body, wanted: string, label: string): Block | undefined =>
  blocks.find(({ type, labels }) => type === wanted && labels[0]?.text === label);

function spanInside(body: Body, [name, ...rest]: readonly string[]): Span | undefined {
  const attribute = body.attributes.find((one) => one.name === name);
  if (attribute) return attribute.nameSpan;
  const blocks = body.blocks.filter(({ type }) => type === name);
  const [next = ''] = rest;
  const numbered = /^\d{1,6}$/.test(next) ? blocks[Number(next)] : undefined;
  if (numbered) return spanInside(numbered.body, rest.slice(1)) ?? numbered.headerSpan;
  const chosen =
    blocks.find(({ labels }) => labels.length > 0 && labels.every(({ text }, at) => text === rest[at])) ??
    blocks.find(({ body: inner }) => spanInside(inner, rest)) ??
    blocks[0];
  return chosen && (spanInside(chosen.body, rest.slice(chosen.labels.length)) ?? chosen.headerSpan);
}
