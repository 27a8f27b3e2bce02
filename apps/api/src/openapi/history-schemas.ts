import * as t from './schema.js';

/** The schemas of answers from the log: transactions, and where an evaluation spent its time. */
export const HISTORY_SCHEMAS: Readonly<Record<string, t.JsonSchema>> = {
  LoggedTransaction: t.plain({
    Index: t.uint,
    Time: t.int,
    MsgType: t.text,
    Name: t.text,
    Region: t.text,
    Namespace: t.text,
    Actor: t.plain({ Kind: t.text, ID: t.text, Name: t.text }),
    RequestID: t.text,
    Reason: t.text,
    TraceID: t.text,
    SpanID: t.text,
    Role: t.text,
    Epoch: t.uint,
    Verdict: t.oneOf('accepted', 'noop', 'refused', 'void'),
    Error: t.text,
    Objects: t.listOf(t.ref('LoggedObject')),
  }),
  LoggedObject: {
    ...t.plain({ Kind: t.text, Namespace: t.text, ID: t.text, Op: t.text, Change: t.text, Diff: t.anything }),
    required: ['Kind', 'Namespace', 'ID', 'Op', 'Change'],
  },
  EvaluationTrace: t.plain({
    EvalID: t.text,
    TraceID: t.text,
    Complete: t.flag,
    Steps: t.listOf(t.ref('TraceStep')),
    Related: t.listOf(t.anything),
  }),
  TraceStep: t.plain({
    Time: t.int,
    EndTime: t.int,
    Service: t.text,
    Instance: t.text,
    Name: t.text,
    Index: t.uint,
    ClockSkewed: t.flag,
    Details: t.mapOf(t.text),
  }),
};
