import styles from './status.module.css';

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'quiet';

/** A state by colour and by its word. */
export function Status({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return <span className={`${styles['status']} ${styles[tone] ?? ''}`}>{children}</span>;
}

const TONES: Readonly<Record<string, Tone>> = {
  running: 'good',
  ready: 'good',
  eligible: 'good',
  successful: 'good',
  healthy: 'good',
  held: 'good',
  valid: 'good',
  passing: 'good',
  schedulable: 'good',
  alive: 'good',
  complete: 'quiet',
  dead: 'quiet',
  expired: 'quiet',
  stopped: 'quiet',
  canceled: 'quiet',
  cancelled: 'quiet',
  pending: 'busy',
  starting: 'busy',
  initializing: 'busy',
  blocked: 'warn',
  'not placed': 'warn',
  'partly placed': 'warn',
  paused: 'warn',
  ineligible: 'warn',
  draining: 'warn',
  unknown: 'warn',
  disconnected: 'warn',
  failed: 'bad',
  lost: 'bad',
  down: 'bad',
  unhealthy: 'bad',
  'no holder': 'bad',
  failing: 'bad',
  unavailable: 'bad',
  unschedulable: 'bad',
};

/** The state of an object under the API's own word. */
export const StateOf = ({ state }: { readonly state: string }) => (
  <Status tone={TONES[state] ?? 'quiet'}>{state}</Status>
);
