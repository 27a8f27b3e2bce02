import type { Display } from '../terminal/display.js';
import type { EventLine, StreamEvent } from './event-line.js';
import { escapeControls, fixedRow } from '../terminal/table.js';
import { absoluteTime, type ApiTime } from '../terminal/times.js';

/** Fixed widths of columns, because rows are printed one by one. A longer cell shifts the rest of its row (CL-1001). */
const WIDTHS = [10, 25, 12, 30, 12, 8];
export const EVENT_HEADER = row(['INDEX', 'TIME', 'TOPIC', 'TYPE', 'NAMESPACE', 'KEY', 'SUMMARY']);

/** Formats one event as a row (CL-1001, CL-1002). */
export function eventRow(line: EventLine, event: StreamEvent, display: Display): string {
  const payload = objectOf(event.Payload);
  const object = new Fields(objectOf(Object.values(payload).find((member) => typeof member === 'object')));
  const deleted = payload['Deleted'] === true ? ' (deleted)' : '';
  const cells = [
    String(line.Index),
    absoluteTime(line.Time ?? timeOf(object)),
    event.Topic,
    event.Type,
    event.Namespace,
    isUuid(event.Key) ? display.id(event.Key) : event.Key,
    `${summaryOf(event, object, display)}${deleted}`,
  ];
  return row(cells) + (display.verbose ? filterKeys(event) : '');
}

function row(cells: readonly string[]): string {
  return fixedRow(cells, WIDTHS);
}

/** Summarises an event by its topic (CL-1002). */
function summaryOf(event: StreamEvent, object: Fields, display: Display): string {
  const id = (name: string) => display.id(object.text(name));
  switch (event.Topic) {
    case 'Job':
      return `v${object.text('Version')} ${object.text('Status')}`;
    case 'Evaluation':
      return `${object.text('Type')} ${object.text('TriggeredBy')} job ${object.text('JobID')} ${object.text('Status')}`;
    case 'Allocation':
      return `${object.text('Name')} on ${id('NodeID')} desired ${object.text('DesiredStatus')} client ${object.text('ClientStatus')}`;
    case 'Deployment': {
      const groups = Object.values(objectOf(object.value('TaskGroups'))).map((group) => new Fields(objectOf(group)));
      const sum = (name: string) => groups.reduce((total, group) => total + group.number(name), 0);
      return `job ${object.text('JobID')} v${object.text('JobVersion')} ${object.text('Status')} healthy ${sum('HealthyAllocs')}/${sum('DesiredTotal')}`;
    }
    case 'Node': {
      const draining = object.value('Drain') === true ? ' draining' : '';
      return `${object.text('Name')} ${object.text('Datacenter')} ${object.text('Status')} ${object.text('SchedulingEligibility')}${draining}`;
    }
    case 'Service':
      return `${object.text('ServiceName')} ${object.text('Address')}:${object.text('Port')}`;
    case 'CSIVolume':
    case 'HostVolume':
      return [object.text('Name'), object.text('State')].filter((part) => part !== '').join(' ');
    default:
      return event.Key;
  }
}

function timeOf(object: Fields): ApiTime {
  const time = object.value('ModifyTime') ?? object.value('SubmitTime');
  return typeof time === 'number' ? time : undefined;
}

const filterKeys = (event: StreamEvent): string => {
  const keys = event.FilterKeys ?? [];
  return keys.length > 0 ? `  [${keys.map(escapeControls).join(', ')}]` : '';
};

const isUuid = (key: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(key);

type Members = Readonly<Record<string, unknown>>;
const objectOf = (value: unknown): Members => (typeof value === 'object' && value !== null ? (value as Members) : {});

/** Members of a payload. An absent or null member is empty, and a zero is not. */
class Fields {
  constructor(private readonly members: Members) {}

  value(name: string): unknown {
    return this.members[name];
  }

  text(name: string): string {
    const value = this.members[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  }

  number(name: string): number {
    const value = this.members[name];
    return typeof value === 'number' ? value : 0;
  }
}
