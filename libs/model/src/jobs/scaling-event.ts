/** Somebody, a person or an autoscaler, wanted a group to have another count, or says why not. `Time` unix nanoseconds. */
export interface ScalingEvent {
  Time: number;
  /** Null: nothing was scaled. */
  Count: number | null;
  PreviousCount: number;
  Message: string;
  Error: boolean;
  Meta: Record<string, unknown> | null;
  /** Null: no evaluation was needed. */
  EvalID: string | null;
  CreateIndex: number;
}

/** An event with the group it is about. */
export interface GroupScalingEvent {
  TaskGroup: string;
  ScalingEvent: ScalingEvent;
}

/** The latest of a job, by group, newest first. */
export interface JobScalingEvents {
  Namespace: string;
  JobID: string;
  ScalingEvents: Record<string, ScalingEvent[]>;
  CreateIndex: number;
  ModifyIndex: number;
}
