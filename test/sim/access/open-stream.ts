import { type EventFrame, eventsOf, type StreamEvent } from '@waybill/state';
import type { Answer, ReadingApi } from '../world/reading-api.js';
import type { AccessState } from './access-history.js';
import type { Right } from './policy-texts.js';
import { nameOf, type Reader, seesVariable, type Standing } from './reader.js';
import type { Moment, Readers } from './readers.js';

/** The topics to which readers subscribe, with what they need for them (EV-40). */
const NEEDS: Readonly<Record<string, Right | 'nodes' | 'variables' | 'management'>> = {
  Job: 'read-job',
  Allocation: 'read-job',
  Evaluation: 'read-job',
  Deployment: 'read-job',
  Service: 'read-job',
  HostVolume: 'read-host-volumes',
  CSIVolume: 'read-volumes',
  Node: 'nodes',
  Variable: 'variables',
  ACLToken: 'management',
};

/** Events of variables are filtered one by one, so readers want them more often than others. */
export const TOPICS = [...Object.keys(NEEDS), 'Variable', 'Variable'];

/** What a reader subscribes to. */
export interface Wish {
  readonly topics: readonly string[];
  /** One, or the star for all. */
  readonly namespace: string;
}

/**
 * One event stream, judged at every line: it shows only what its reader may see now (EV-43, EV-44), and nothing at all once
 * the right to it has ended (AU-231 to AU-235). opening → open → ended.
 */
export class OpenStream {
  private mode: 'opening' | 'open' | 'ended' = 'opening';
  private readonly taken = new Set<string>();
  /** When it was asked for. */
  private readonly asked: Moment;

  constructor(
    private readonly readers: Readers,
    private readonly reader: Reader,
    private readonly wish: Wish,
    private readonly api: ReadingApi,
    private readonly storedIndex: () => number,
  ) {
    this.asked = readers.momentOf(api);
  }

  /** Index of the first event that is asked for. */
  get fromIndex(): number {
    return this.asked.heard + 1;
  }

  /** A line is handed over; the first is a heartbeat, and says that the stream is open. */
  take(line: string): void {
    if (this.mode === 'opening') this.opened(200);
    this.mode = 'open';
    const { Events: events, ...head } = JSON.parse(line) as Partial<EventFrame>;
    if (!events) return; // a heartbeat
    const frame = { Index: 0, Time: 0, ...head, Events: events };
    const now = this.readers.momentOf(this.api);
    const possible = this.readers.possible(this.reader, now, now, this.storedIndex());
    const problems = possible.map(([standing, state]) => this.problemOf(frame, standing, state));
    this.readers.count('events');
    if (!problems.includes(undefined)) this.report(`at index ${frame.Index}: ${problems[0]}`);
    for (const event of frame.Events) this.taken.add(keyOf(event));
  }

  end(): void {
    if (this.mode === 'open') this.readers.count('ended streams');
    this.mode = 'ended';
  }

  /** It was refused, or is over. */
  answered({ status }: Answer): void {
    if (this.mode === 'opening' && status < 500) this.opened(status);
    this.end();
  }

  private opened(status: number): void {
    this.readers.count(`stream ${status}`);
    const possible = this.readers.possible(
      this.reader,
      this.asked,
      this.readers.momentOf(this.api),
      this.storedIndex(),
    );
    const wanted = possible.map(([standing, state]) => (this.isAllowed(standing, state) ? 200 : 403));
    if (!wanted.some((one) => one === status)) this.report(`it is answered with ${status} instead of ${wanted[0]}`);
  }

  /** At rest: who has lost the right has no stream, and who has it always has seen all that they may. */
  finish(): void {
    if (this.mode !== 'open' || !this.api.process.isAlive) return;
    this.readers.count('streams open at rest');
    const now = this.readers.momentOf(this.api);
    const possible = this.readers.possible(this.reader, now, now, this.storedIndex());
    if (!possible.some(([standing, state]) => this.isAllowed(standing, state)))
      return this.report('it goes on although the right to it has ended');
    for (const applied of this.readers.reference.applied.slice(this.fromIndex - 1))
      for (const event of eventsOf(applied)?.Events ?? []) this.expectTaken(event);
  }

  /** An event that could be seen ever since it happened must have come. */
  private expectTaken(event: StreamEvent): void {
    if (!this.isWanted(event) || this.taken.has(keyOf(event))) return;
    const since = { heard: event.Index, nowMs: 0 };
    const possible = this.readers.possible(this.reader, since, since, this.storedIndex());
    if (possible.every(([standing, state]) => this.isVisible(event, standing, state)))
      this.report(`it lacks ${event.Topic} ${event.Key} of index ${event.Index}`);
  }

  private problemOf({ Events }: EventFrame, standing: Standing | undefined, state: AccessState): string | undefined {
    if (!this.isAllowed(standing, state)) return 'the right to the stream has ended';
    const leaked = Events.find((event) => !this.isWanted(event) || !this.isVisible(event, standing, state));
    return leaked && `it shows ${leaked.Topic} ${leaked.Key} of ${leaked.Namespace || 'no namespace'}`;
  }

  private isAllowed(standing: Standing | undefined, state: AccessState): boolean {
    return standing !== undefined && isOpenTo(this.wish, standing, state);
  }

  private isWanted({ Topic, Namespace }: StreamEvent): boolean {
    const { namespace, topics } = this.wish;
    return topics.includes(Topic) && (Namespace === '' || namespace === '*' || namespace === Namespace);
  }

  private isVisible(
    { Topic, Namespace, Key }: StreamEvent,
    standing: Standing | undefined,
    state: AccessState,
  ): boolean {
    if (!standing || !this.isAllowed(standing, state)) return false;
    if (Topic === 'Variable') return seesVariable(standing, 'list', Namespace, Key);
    return Namespace === '' || mayHave(standing, Topic, Namespace);
  }

  private report(problem: string): void {
    this.readers.report(
      'streams-show-what-they-may',
      `${nameOf(this.reader)}, ${JSON.stringify(this.wish)}: ${problem}`,
    );
  }
}

/** Each topic needs its right in every namespace of the stream (EV-40 to EV-42). */
export function isOpenTo({ topics, namespace }: Wish, standing: Standing, state: AccessState): boolean {
  const namespaces = namespace === '*' ? state.namespaces : [namespace];
  return namespaces.length > 0 && topics.every((topic) => namespaces.every((one) => mayHave(standing, topic, one)));
}

function mayHave({ rights }: Standing, topic: string, namespace: string): boolean {
  const need = NEEDS[topic];
  switch (need) {
    case undefined:
    case 'management':
      return false;
    case 'nodes':
      return rights.readsNodes;
    case 'variables':
      return rights.hasVariables(namespace);
    default:
      return rights.has(need, namespace);
  }
}

const keyOf = ({ Index, Topic, Namespace, Key }: StreamEvent): string => JSON.stringify([Index, Topic, Namespace, Key]);
