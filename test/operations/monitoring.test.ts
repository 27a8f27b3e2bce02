import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parser } from '@prometheus-io/lezer-promql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { shellJob } from '../support/api-client.js';
import { eventually } from '../support/wait.js';
import { WaybillProcesses } from '../support/waybill-processes.js';

/** What is asked of Prometheus must be something that the services say: a metric that was renamed never wakes anybody. */

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
}
interface Dashboard {
  panels: { title: string; targets: { expr: string }[] }[];
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const textOf = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const rules = (
  parse(textOf('k8s/components/monitoring/alerts.yaml')) as { spec: { groups: { rules: Rule[] }[] } }
).spec.groups.flatMap((group) => group.rules);
const { panels } = JSON.parse(textOf('k8s/components/monitoring/dashboard.json')) as Dashboard;
const expressions = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [`panel ${title}`, expr] as const)),
];

/** Given by Prometheus to whatever it scrapes, or by a histogram to its lines. */
const OTHERS_LABELS = ['instance', 'le'];

interface Asked {
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
  readonly errors: readonly string[];
}

/** The metrics and labels of an expression of PromQL, and what in it is none. */
function askedBy(expr: string): Asked {
  const found = { metrics: [] as string[], labels: [] as string[], errors: [] as string[] };
  parser.parse(expr).iterate({
    enter: ({ type, from, to, node }) => {
      const text = expr.slice(from, to);
      if (type.isError) found.errors.push(`at ${from}: ${text}`);
      else if (type.name === 'LabelName') found.labels.push(text);
      else if (type.name === 'Identifier' && node.parent?.name === 'VectorSelector') found.metrics.push(text);
    },
  });
  return found;
}

let waybill: WaybillProcesses;
/** Everything that all services say, as Prometheus would be told. */
let said: string;

beforeAll(async () => {
  waybill = await WaybillProcesses.start();
  await waybill.api.register(shellJob('seen', 'sleep 600'));
  const running = async () =>
    (await waybill.api.get<{ ClientStatus: string }[]>('/v1/job/seen/allocations')).some(
      ({ ClientStatus }) => ClientStatus === 'running',
    );
  await eventually('it runs', running, 60_000);
  const texts = [...waybill.running.values()].map(async ({ opsUrl }) => (await fetch(`${opsUrl}/metrics`)).text());
  said = (await Promise.all(texts)).join('');
});
afterAll(() => waybill?.stop());

describe('the alerts and the dashboard', () => {
  it.each(expressions)('%s asks for metrics and labels that there are', (_, expr) => {
    const { metrics, labels, errors } = askedBy(expr);
    expect(errors).toEqual([]);
    expect(metrics.length).toBeGreaterThan(0);
    const lines = metrics.flatMap((metric) => {
      const family = metric.replace(/_(bucket|sum|count)$/, '');
      expect(said, metric).toMatch(new RegExp(`^# TYPE (${metric}|${family}) `, 'm'));
      return said.split('\n').filter((line) => line.startsWith(`${metric}{`));
    });
    // A gauge by what is not there, such as a machine that is mistrusted, has no line yet.
    for (const label of lines.length > 0 ? labels : [])
      if (!OTHERS_LABELS.includes(label)) expect(lines.join('\n')).toContain(`${label}="`);
  });

  it('every role that is held counts, so that one less is seen', () => {
    const held = said.split('\n').filter((line) => /^waybill_nomad_waybill_lease_held\{.*\} 1$/.test(line));
    const expr = rules.find(({ alert }) => alert === 'WaybillRoleUnheld')?.expr;
    expect(expr).toMatch(new RegExp(`< ${held.length}$`));
  });

  it('each alert has a severity, and a section in the documentation that says what to do', () => {
    const sections = [...textOf('docs/monitoring.md').matchAll(/^### (\S+)$/gm)].map(([, name]) => String(name));
    expect(rules.map(({ alert }) => alert).toSorted()).toEqual(sections.toSorted());
    for (const { alert, labels, annotations } of rules) {
      expect(['page', 'ticket']).toContain(labels.severity);
      expect(annotations.summary).not.toBe('');
      expect(annotations.runbook).toBe(`docs/monitoring.md#${alert.toLowerCase()}`);
    }
  });
});
