import { describe, expect, it } from 'vitest';
import { Block, Choice, Expression, templateLines, weave, When, within } from './helm-template.mjs';

const text = (node: unknown): string => templateLines(node).join('\n');

describe('what a variant of a manifest adds', () => {
  const base = { spec: { env: [{ name: 'A' }], url: 'nats://a' } };

  it('is a condition around new keys and new items, and a choice between scalars', () => {
    const variant = { spec: { env: [{ name: 'A', value: '1' }, { name: 'B' }], url: 'tls://a', tls: true } };
    expect(weave(base, base, variant, '.Values.tls')).toEqual({
      spec: {
        env: [{ name: 'A', value: new When('.Values.tls', '1') }, new When('.Values.tls', { name: 'B' })],
        url: new Choice('.Values.tls', 'tls://a', 'nats://a'),
        tls: new When('.Values.tls', true),
      },
    });
  });

  it('comes behind what another variant has added', () => {
    const withB = { spec: { ...base.spec, env: [{ name: 'A' }, { name: 'B' }] } };
    const withC = { spec: { ...base.spec, env: [{ name: 'A' }, { name: 'C' }] } };
    const both = weave(weave(base, base, withB, 'b'), base, withC, 'c');
    expect(both.spec.env).toEqual([{ name: 'A' }, new When('b', { name: 'B' }), new When('c', { name: 'C' })]);
  });

  it('may take nothing away', () => {
    expect(() => weave(base, base, { spec: { env: [{ name: 'A' }] } }, 'c')).toThrow('url is gone');
  });
});

describe('a template', () => {
  it('has conditions on lines of their own, which leave no line behind', () => {
    const node = {
      a: new When('.Values.x', [1, 'two']),
      b: new Choice('.Values.y', 'yes', { c: null }),
      list: [{ name: 'one', more: new When('.Values.z', true) }, new When('.Values.x', 'last')],
    };
    expect(text(node)).toBe(
      [
        '{{- if .Values.x }}',
        'a:',
        '  - 1',
        '  - two',
        '{{- end }}',
        '{{- if .Values.y }}',
        'b: "yes"',
        '{{- else }}',
        'b:',
        '  c: null',
        '{{- end }}',
        'list:',
        '  - name: one',
        '{{- if .Values.z }}',
        '    more: true',
        '{{- end }}',
        '{{- if .Values.x }}',
        '  - last',
        '{{- end }}',
      ].join('\n'),
    );
  });

  it('has expressions of its own, and keeps those of others as text', () => {
    const node = {
      own: new Expression('.Values.x'),
      block: new Block('toYaml .Values.r'),
      address: `nats://a.${within('.Release.Namespace')}:4222`,
      alert: '{{ $value }} of "five"',
      file: 'first {{name}}\n  second\n',
    };
    expect(text(node)).toBe(
      [
        'own: {{ .Values.x }}',
        'block:',
        '{{- toYaml .Values.r | nindent 2 }}',
        'address: "nats://a.{{ .Release.Namespace }}:4222"',
        String.raw`alert: "{{ "{{" }} $value }} of \"five\""`,
        'file: |',
        '  first {{ "{{" }}name}}',
        '    second',
      ].join('\n'),
    );
  });

  it('refuses an item whose first key depends on a condition', () => {
    expect(() => text([{ a: new When('x', 1) }])).toThrow('first key');
  });
});
