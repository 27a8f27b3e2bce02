import { z } from 'zod';
import { duration, flag } from './setting-forms.js';

const STAGES = ['OperationReceived', 'OperationComplete', 'OperationClosed', '*'] as const;
const SINKS = ['file', 'nats'] as const;
const count = z.coerce.number().int().min(0);

const filterForm = z.array(
  z.strictObject({
    name: z.string().min(1),
    endpoints: z.array(z.string().min(1)).min(1),
    stages: z.array(z.enum(STAGES)).min(1),
    operations: z.array(z.string().min(1)).min(1),
  }),
);

/** Requests that the audit log omits. Endpoints and operations are patterns with `*` (AU-280). */
export type AuditFilterSetting = z.output<typeof filterForm>[number];

const filters = z.string().transform((text, ctx): readonly AuditFilterSetting[] => {
  const found = filterForm.safeParse(jsonOf(text));
  if (found.success) return found.data;
  for (const { path, message } of found.error.issues)
    ctx.addIssue({ code: 'custom', message: `${path.join('.') || 'the text'}: ${message}` });
  return z.NEVER;
});

/** Returns undefined for invalid JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const sinks = z.string().transform((text, ctx): readonly (typeof SINKS)[number][] => {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !SINKS.some((sink) => sink === name));
  if (unknown === undefined) return SINKS.filter((sink) => names.includes(sink));
  ctx.addIssue({ code: 'custom', message: `file, nats or both with a comma between; "${unknown}" is none` });
  return z.NEVER;
});

const fileMode = z
  .string()
  .regex(/^0?[0-7]{3}$/, 'rights as chmod takes them, such as 0600')
  .transform((text) => Number.parseInt(text, 8));

/** Settings of an API's audit log (AU-271). */
export const AUDIT_SETTINGS = {
  WAYBILL_AUDIT_ENABLED: flag.default(false).describe('api: record every request and how it was answered'),
  WAYBILL_AUDIT_SINKS: sinks
    .default(['file'])
    .describe('api: where records go: file, nats (the stream AUDIT), or both with a comma between'),
  WAYBILL_AUDIT_DELIVERY: z
    .enum(['enforced', 'best-effort'], 'enforced or best-effort')
    .default('enforced')
    .describe('api: enforced: what cannot be recorded is refused; best-effort: it is counted, and goes on'),
  WAYBILL_AUDIT_FILE: z
    .string()
    .default('.waybill/audit/audit.log')
    .describe('api: file of the audit log, one for each api'),
  WAYBILL_AUDIT_FILE_MODE: fileMode.default(0o600).describe('api: rights of that file, such as 0640'),
  WAYBILL_AUDIT_SYNC: flag.default(false).describe('api: a record counts as written when the disk has it'),
  WAYBILL_AUDIT_ROTATE_BYTES: count
    .default(0)
    .describe('api: size in bytes at which the file is put aside and a new one begins; 0: any'),
  WAYBILL_AUDIT_ROTATE_DURATION: duration('24h').describe('api: age at which it is; 0: any'),
  WAYBILL_AUDIT_ROTATE_MAX_FILES: count.default(0).describe('api: files put aside that stay; 0: all'),
  WAYBILL_AUDIT_RETENTION_HOURS: z.coerce
    .number()
    .positive()
    .default(2_160)
    .describe('api: how long records stay in the stream AUDIT'),
  WAYBILL_AUDIT_FILTERS: filters
    .default([])
    .describe(
      'api: records that are left out, as JSON: [{"name":"health","endpoints":["/v1/agent/health"],"stages":["*"],"operations":["GET"]}]; never those of refused requests or of /v1/acl',
    ),
} as const;
