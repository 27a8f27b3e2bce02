import type { ServiceFigures } from '@waybill/service';
import { ROLES } from '@waybill/state';

/** TakenRole is a role with the process that took it last. */
interface TakenRole {
  readonly Role: string;
  readonly Holder: string;
  readonly Epoch: number;
  readonly ModifyIndex: number;
}

/** ControlPlaneParts is what is read for one answer. */
export interface ControlPlaneParts {
  readonly leases: readonly TakenRole[];
  /** The figures of all services that answered. */
  readonly figures: readonly ServiceFigures[];
  /** The last index of the log. It is undefined if NATS does not answer. */
  readonly logIndex: number | undefined;
  /** The last index that PostgreSQL has. */
  readonly appliedIndex: number;
}

const QUEUES = {
  Ready: 'broker_total_ready',
  Unacked: 'broker_total_unacked',
  Pending: 'broker_total_pending',
  Waiting: 'broker_total_waiting',
  Cancelable: 'broker_total_cancelable',
  Blocked: 'blocked_evals_total_blocked',
  Escaped: 'blocked_evals_total_escaped',
  Plans: 'plan_queue_depth',
} as const;

/** ControlPlane is who does what in the control plane, and how far it has come. */
export interface ControlPlane {
  readonly LogIndex: number;
  readonly AppliedIndex: number;
  /** The transactions that are in the log and not yet in PostgreSQL. */
  readonly ProjectionLag: number;
  /** The indexes that the slowest event stream is behind the log. */
  readonly EventsLag: number;
  readonly Roles: readonly {
    readonly Role: string;
    /** The process that took the role last. It is empty if nobody ever did. */
    readonly Holder: string;
    readonly Epoch: number;
    readonly SinceIndex: number;
    /** Says whether a process has just answered that it holds the role. */
    readonly IsHeld: boolean;
  }[];
  /** The services that answered, one row for each process and service. */
  readonly Services: readonly { readonly Service: string; readonly Host: string }[];
  /** The broker's queues by their number of evaluations. It is null if nobody holds the role. */
  readonly Queues: Readonly<Record<keyof typeof QUEUES, number>> | null;
}

const nameOf = (metric: string): string => `waybill_nomad_${metric}`;

/** Puts an answer together. The function is pure; its cost is linear in the figures. */
export function controlPlaneOf({ leases, figures, logIndex, appliedIndex }: ControlPlaneParts): ControlPlane {
  const gauges = figures.flatMap((one) => one.gauges);
  const valuesOf = (metric: string) => gauges.filter(({ name }) => name === nameOf(metric));
  const sum = (metric: string): number => valuesOf(metric).reduce((total, { value }) => total + value, 0);
  const held = new Set(
    valuesOf('waybill_lease_held')
      .filter(({ value }) => value === 1)
      .map(({ labels }) => labels['role']),
  );
  const Roles = ROLES.map((Role) => {
    const taken = leases.find((one) => one.Role === Role);
    return {
      Role,
      Holder: taken?.Holder ?? '',
      Epoch: taken?.Epoch ?? 0,
      SinceIndex: taken?.ModifyIndex ?? 0,
      IsHeld: held.has(Role),
    };
  });
  const LogIndex = Math.max(logIndex ?? 0, appliedIndex);
  return {
    LogIndex,
    AppliedIndex: appliedIndex,
    ProjectionLag: LogIndex - appliedIndex,
    EventsLag: Math.max(0, ...valuesOf('waybill_events_lag').map(({ value }) => value)),
    Roles,
    Services: figures
      .map(({ service, host }) => ({ Service: service, Host: host }))
      .toSorted((a, b) => (a.Service + a.Host < b.Service + b.Host ? -1 : 1)),
    Queues: held.has('broker')
      ? {
          Ready: sum(QUEUES.Ready),
          Unacked: sum(QUEUES.Unacked),
          Pending: sum(QUEUES.Pending),
          Waiting: sum(QUEUES.Waiting),
          Cancelable: sum(QUEUES.Cancelable),
          Blocked: sum(QUEUES.Blocked),
          Escaped: sum(QUEUES.Escaped),
          Plans: sum(QUEUES.Plans),
        }
      : null,
  };
}
