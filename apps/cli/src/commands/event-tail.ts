import type { Call, ServerCommand } from '../command-spec.js';
import { TEMPLATE_FLAG } from '../terminal/data-printer.js';
import { VERBOSE_FLAG } from '../terminal/display.js';
import { EventCursor } from '../events/event-cursor.js';
import { Deadline } from '../events/event-deadline.js';
import { EventFollower, type FollowOptions } from '../events/event-follower.js';
import { EventPrinter } from '../events/event-printer.js';
import { eventStart } from '../events/event-start.js';
import { TOPICS } from '../events/event-topics.js';
import { isInterrupt } from '../failure.js';
import { nearestWord } from '../nearest-word.js';
import type { Terminal } from '../terminal/terminal.js';

export const command: ServerCommand = {
  usage: '[<topic>[:<key>]…]',
  description:
    'Follows the event stream, and resumes without gaps or duplicates after a broken connection. Topics are, for ' +
    'example, Job, Evaluation, Allocation, Deployment, Node; the default is all topics.\n\nExit codes: 0 ended as ' +
    'asked; 1 refused; 3 (-strict) the wanted index is no longer retained.\n\nNeeds read access to what the topics ' +
    'show; all topics: a management token.',
  flags: [
    { name: 'topic', kind: 'list', value: 'topic[:key]', help: 'A topic to follow, like the arguments.' },
    {
      name: 'index',
      kind: 'text',
      value: 'n|now|oldest',
      help: 'First index, or now for new events (the default).',
    },
    { name: 'since', kind: 'text', value: 'time', help: 'Start at this time, or this long ago (2h).' },
    {
      name: 'cursor',
      kind: 'text',
      value: 'file',
      help: 'Start after the index in this file, if it exists, and store the last printed index in it.',
    },
    {
      name: 'filter',
      kind: 'text',
      value: 'expression',
      help: 'Only matching events, such as Payload.Job.Type == batch.',
    },
    { name: 'type', kind: 'list', value: 'type', help: 'Only events of this type.' },
    { name: 'no-follow', kind: 'switch', help: 'End after the event that was newest at the start.' },
    { name: 'count', kind: 'integer', value: 'n', help: 'End after n events.' },
    { name: 'timeout', kind: 'duration', value: 'duration', help: 'End after that time.' },
    { name: 'strict', kind: 'switch', help: 'Fail instead of starting after the requested index.' },
    { name: 'json', kind: 'switch', help: "Print the server's lines, one JSON object each." },
    TEMPLATE_FLAG,
    VERBOSE_FLAG,
  ],
  takes: { min: 0, max: Number.POSITIVE_INFINITY, otherwise: '' },
  run,
};

/**
 * Warns of unknown topics. They are requested all the same, because a server may have more topics than this program
 * knows.
 */
async function warnOfUnknown(topics: readonly string[], terminal: Terminal): Promise<void> {
  const known = TOPICS.map(([name]) => name);
  for (const [name = ''] of topics.map((topic) => topic.split(':'))) {
    if (name === '*' || known.includes(name)) continue;
    const near = await nearestWord(name, known);
    const meant = near === undefined ? 'event topics shows those there are' : `did you mean ${near}?`;
    terminal.warn(`Unknown topic "${name}": ${meant}`);
  }
}

async function run(call: Call): Promise<number> {
  const { flags, terminal, args, random } = call;
  const cursorFile = flags.text('cursor');
  const cursor = cursorFile === undefined ? undefined : new EventCursor(cursorFile, call.clock);
  const { start, sinceNs } = await eventStart(call, cursor);
  const options: FollowOptions = { start, strict: flags.on('strict'), untilHead: flags.on('no-follow') };
  const topics = [...args, ...flags.list('topic')];
  await warnOfUnknown(topics, terminal);
  const deadline = new Deadline(flags.durationMs('timeout'));
  const follower = new EventFollower(options, {
    open: (query, signal) =>
      call.api.stream(
        '/v1/event/stream',
        { ...query, topic: topics.length > 0 ? topics : ['*'] },
        AbortSignal.any([signal, deadline.signal]),
      ),
    sleep: (ms) => deadline.race(call.sleep(ms)),
    random,
    note: (text) => terminal.note(text),
    warn: (text) => terminal.warn(text),
  });
  const printer = await EventPrinter.of(call, sinceNs);
  try {
    let enough = false;
    for await (const line of follower.lines()) {
      enough = await printer.print(line);
      cursor?.reached(line.Index);
      if (enough) break;
    }
    // Without events of the wanted topics, the cursor must still advance with the retained events.
    if (options.untilHead && !enough) cursor?.reached(Math.max(follower.head, printer.last));
  } catch (error) {
    if (!isInterrupt(error)) throw error;
    // Only Ctrl-C prints the note (CL-1008). The end of -timeout aborts the same way and prints nothing.
    if (!deadline.signal.aborted && printer.last > 0)
      terminal.note(`Last index: ${printer.last}. Resume with -index ${printer.last + 1}`);
  } finally {
    deadline.stop();
    cursor?.write();
  }
  return 0;
}
