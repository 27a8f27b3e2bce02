import type { TaskEvent } from './allocation.js';
import { formatDuration } from '../time/duration.js';

/** Number of the newest events that a task keeps (AG-1). */
export const MAX_TASK_EVENTS = 10;

/**
 * Returns a task event with its readable text and the deprecated flat fields, which are filled from `details` (agent.md
 * 2.2). `timeNs` is in unix nanoseconds. `message` is for types with a free text.
 */
export function newTaskEvent(
  type: string,
  timeNs: number,
  details: Record<string, string> = {},
  message = '',
): TaskEvent {
  const event: TaskEvent = {
    Type: type,
    Time: timeNs,
    Message: message,
    DisplayMessage: '',
    Details: details,
    FailsTask: details['fails_task'] === 'true',
    RestartReason: details['restart_reason'] ?? '',
    SetupError: details['setup_error'] ?? '',
    DriverError: details['driver_error'] ?? '',
    ExitCode: count(details['exit_code']),
    Signal: count(details['signal']),
    // The detail is a text for people (`5s`), so the flat field cannot be filled exactly.
    KillTimeout: 0,
    KillError: details['kill_error'] ?? '',
    KillReason: details['kill_reason'] ?? '',
    StartDelay: count(details['start_delay']),
    DownloadError: details['download_error'] ?? '',
    ValidationError: details['validation_error'] ?? '',
    DiskLimit: count(details['disk_limit']),
    FailedSibling: details['failed_sibling'] ?? '',
    VaultError: details['vault_renewal_error'] ?? '',
    TaskSignalReason: details['task_signal_reason'] ?? '',
    TaskSignal: details['task_signal'] ?? '',
    DriverMessage: details['driver_message'] ?? '',
    GenericSource: '',
  };
  event.DisplayMessage = displayMessage(event);
  return event;
}

/** Returns the newest events of a task after one more. `events` is not changed. */
export function appendTaskEvent(events: readonly TaskEvent[], event: TaskEvent): TaskEvent[] {
  return [...events, event].slice(-MAX_TASK_EVENTS);
}

/** Returns the readable text of an event (AG-2). A text in the event itself precedes the generated one. */
export function displayMessage(event: Pick<TaskEvent, 'Type' | 'Message' | 'DisplayMessage' | 'Details'>): string {
  if (event.DisplayMessage !== '') return event.DisplayMessage;
  return textOf(event.Type, event.Details, event.Message);
}

function textOf(type: string, details: Record<string, string>, message: string): string {
  const detail = (key: string, otherwise: string) => nonEmpty(details[key]) ?? nonEmpty(message) ?? otherwise;
  switch (type) {
    case 'Received':
      return 'Task received by client';
    case 'Task Setup':
    case 'Building Task Directory':
      return detail('message', 'Building Task Directory');
    case 'Setup Failure':
      return detail('setup_error', 'Task setup failed');
    case 'Failed Validation':
      return detail('validation_error', 'Validation of task failed');
    case 'Driver Failure':
      return detail('driver_error', 'Failed to start task');
    case 'Driver':
      return detail('driver_message', '');
    case 'Started':
      return 'Task started by client';
    case 'Terminated':
      return terminatedText(details);
    case 'Restarting':
      return restartingText(details);
    case 'Not Restarting':
      return detail('restart_reason', 'Task exceeded restart policy');
    case 'Restart Signaled':
      return detail('restart_reason', 'Task signaled to restart');
    case 'Killing':
      return killingText(details);
    case 'Killed':
      return detail('kill_error', 'Task successfully killed');
    case 'Signaling':
      return signalingText(details);
    case 'Sibling Task Failed':
      return `Task's sibling "${details['failed_sibling'] ?? ''}" failed`;
    case 'Leader Task Dead':
      return 'Leader Task in Group dead';
    case 'Main Tasks Dead':
      return 'Main tasks in the group died';
    case 'Downloading Artifacts':
      return 'Client is downloading artifacts';
    case 'Failed Artifact Download':
      return detail('download_error', 'Failed to download artifacts');
    case 'Reconnected':
      return 'Client reconnected';
    default:
      return detail('message', '');
  }
}

function terminatedText(details: Record<string, string>): string {
  let text = `Exit Code: ${count(details['exit_code'])}`;
  if (count(details['signal']) !== 0) text += `, Signal: ${count(details['signal'])}`;
  const exitMessage = nonEmpty(details['exit_message']);
  return exitMessage === undefined ? text : `${text}, Exit Message: "${exitMessage}"`;
}

function restartingText(details: Record<string, string>): string {
  const text = `Task restarting in ${formatDuration(count(details['start_delay']))}`;
  const reason = nonEmpty(details['restart_reason']);
  return reason === undefined || reason === 'Restart within policy' ? text : `${reason} - ${text}`;
}

function killingText(details: Record<string, string>): string {
  const reason = nonEmpty(details['kill_reason']);
  if (reason !== undefined) return reason;
  const timeout = nonEmpty(details['kill_timeout']);
  return timeout === undefined ? 'Sent interrupt' : `Sent interrupt. Waiting ${timeout} before force killing`;
}

function signalingText(details: Record<string, string>): string {
  const signal = nonEmpty(details['task_signal']); // `signal`, of a request, is not shown (AG-165)
  const reason = nonEmpty(details['task_signal_reason']);
  if (signal === undefined) return reason ?? 'Task being sent a signal';
  return reason === undefined ? `Task being sent signal ${signal}` : `Task being sent signal ${signal}: ${reason}`;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function count(text: string | undefined): number {
  const number = Number(text ?? 0);
  return Number.isFinite(number) ? number : 0;
}
