import type { DiffType, FieldDiff, JobDiff, ObjectDiff, TaskDiff, TaskGroupDiff } from '@waybill/model';
import { sortedEntries } from '../terminal/sorted-entries.js';
import type { Colour, Terminal } from '../terminal/terminal.js';

const MARKERS: Readonly<Record<DiffType, readonly [marker: string, colour: Colour | undefined]>> = {
  Added: ['+ ', 'green'],
  Deleted: ['- ', 'red'],
  Edited: ['+/- ', 'yellowBright'],
  None: ['', undefined],
};

const COLOURS: Readonly<Record<string, Colour>> = {
  'forces create': 'green',
  'forces destroy': 'red',
  'forces in-place update': 'cyan',
  'forces create/destroy update': 'yellow',
  create: 'green',
  destroy: 'red',
  migrate: 'blue',
  'in-place update': 'cyan',
  'create/destroy update': 'yellow',
  canary: 'yellowBright',
};

/** Indent of nested entries. */
const STEP = 2;

interface Entry {
  readonly Type: DiffType;
}

/** Entries of one level: their indent, and the widths of markers and field names (CL-324). */
interface Level {
  readonly indent: number;
  readonly marker: number;
  readonly name: number;
}

/** The diff of a job as text (CL-324 to CL-326). Lists may be null, because other servers send null. */
export class JobDiffText {
  constructor(
    private readonly terminal: Pick<Terminal, 'coloured' | 'bold'>,
    private readonly verbose: boolean,
  ) {}

  of(diff: JobDiff): string {
    const groups = diff.TaskGroups ?? [];
    const level = levelOf(0, diff, groups);
    const own = { ...level, marker: markerOf(diff).length };
    const lines = [this.start(diff, own) + this.terminal.bold(`Job: ${quoted(diff.ID)}`)];
    if (this.verbose || diff.Type === 'Edited') for (const item of this.members(diff, level)) lines.push(item);
    const blocks = groups.map((group) => this.group(group, level).join('\n'));
    return [...lines, blocks.join('\n\n')].join('\n').trim();
  }

  private group(group: TaskGroupDiff, at: Level): string[] {
    const updates = sortedEntries(group.Updates).map(([word, n]) => this.painted(`${n} ${word}`, word));
    const title = this.terminal.bold(`Task Group: ${quoted(group.Name)}`) + inParentheses(updates);
    const tasks = group.Tasks ?? [];
    const inside = levelOf(childIndent(group, at), group, tasks);
    const members = this.verbose || group.Type === 'Edited' ? this.members(group, inside) : [];
    return [this.start(group, at) + title, ...members, ...tasks.flatMap((task) => this.task(task, inside))];
  }

  private task(task: TaskDiff, at: Level): string[] {
    const annotations = (task.Annotations ?? []).map((word) => this.painted(word, word));
    const line = this.start(task, at) + this.terminal.bold(`Task: ${quoted(task.Name)}`) + inParentheses(annotations);
    const expanded = task.Type === 'Edited' || (this.verbose && task.Type !== 'None');
    return expanded ? [line, ...this.members(task, levelOf(at.indent + STEP, task))] : [line];
  }

  private members({ Fields, Objects }: Pick<ObjectDiff, 'Fields' | 'Objects'>, level: Level): string[] {
    return [
      ...(Fields ?? []).map((field) => this.field(field, level)),
      ...(Objects ?? [])
        .filter((object) => this.verbose || object.Type !== 'None')
        .flatMap((object) => this.object(object, level)),
    ];
  }

  private field(field: FieldDiff, level: Level): string {
    const annotations = (field.Annotations ?? []).map((word) => this.painted(word, word));
    const gap = ' '.repeat(level.name - field.Name.length + 1);
    return `${this.start(field, level)}${field.Name}:${gap}${valueOf(field)}${inParentheses(annotations)}`;
  }

  private object(object: ObjectDiff, level: Level): string[] {
    const inside = levelOf(childIndent(object, level), object);
    const end = `${' '.repeat(level.indent + level.marker)}}`;
    return [`${this.start(object, level)}${object.Name} {`, ...this.members(object, inside), end];
  }

  /** Returns indent and marker, padded to the widest marker of the level. */
  private start(entry: Entry, { indent, marker }: Level): string {
    const [text, colour] = MARKERS[entry.Type];
    const shown = colour === undefined ? text : this.terminal.coloured(colour, text);
    return ' '.repeat(indent) + shown + ' '.repeat(marker - text.length);
  }

  private painted(text: string, word: string): string {
    const colour = COLOURS[word];
    return colour === undefined ? text : this.terminal.coloured(colour, text);
  }
}

function levelOf(
  indent: number,
  { Fields, Objects }: Pick<ObjectDiff, 'Fields' | 'Objects'>,
  parts: readonly Entry[] = [],
): Level {
  const entries = [...(Fields ?? []), ...(Objects ?? []), ...parts];
  return {
    indent,
    marker: entries.reduce((longest, entry) => Math.max(longest, markerOf(entry).length), 0),
    name: (Fields ?? []).reduce((longest, { Name }) => Math.max(longest, Name.length), 0),
  };
}

const markerOf = ({ Type }: Entry): string => MARKERS[Type][0];

const childIndent = (entry: Entry, { indent, marker }: Level): number =>
  indent + STEP + marker - markerOf(entry).length;

function valueOf({ Type, Old, New }: FieldDiff): string {
  if (Type === 'Edited') return `${quoted(Old)} => ${quoted(New)}`;
  return quoted(Type === 'Deleted' ? Old : New);
}

/** Quotes a string like JSON (CL-147). */
const quoted = (text: string): string => JSON.stringify(text);

const inParentheses = (words: readonly string[]): string => (words.length === 0 ? '' : ` (${words.join(', ')})`);
