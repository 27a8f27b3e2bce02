/**
 * A request of a person or an autoscaler to change a group's count, or its report of why the count stays. `Time` is in
 * unix nanoseconds.
 */
export interface ScalingEvent {
  Time: number;
  /** Null if nothing was scaled. */
  Count: number | null;
  PreviousCount: number;
  Message: string;
  Error: boolean;
  Meta: Record<string, unknown> | null;
  /** Null if no evaluation was needed. */
  EvalID: string | null;
  CreateIndex: number;
}

/** A scaling event with its group. */
export interface GroupScalingEvent {
  TaskGroup: string;
  ScalingEvent: ScalingEvent;
}

/** The latest scaling events of a job, by group, newest first. */
export interface JobScalingEvents {
  Namespace: string;
  JobID: string;
  ScalingEvents: Record<string, ScalingEvent[]>;
  CreateIndex: number;
  ModifyIndex: number;
}
