import type { ChangeScript, Template } from '@waybill/model';

/** TemplateAction is an action on a task after a change of templates. */
export type TemplateAction =
  | { readonly kind: 'restart' }
  | { readonly kind: 'signal'; readonly signal: string }
  | { readonly kind: 'script'; readonly script: ChangeScript };

/**
 * Returns the actions after a change of templates: one restart and nothing else, or each signal once and each script
 * (AG-292).
 */
export function actionsOf(changed: readonly Template[]): TemplateAction[] {
  if (changed.some(({ ChangeMode }) => ChangeMode === 'restart')) return [{ kind: 'restart' }];
  const signals = changed.filter(({ ChangeMode }) => ChangeMode === 'signal').map(({ ChangeSignal }) => ChangeSignal);
  const scripts = changed.flatMap(({ ChangeMode, ChangeScript }) =>
    ChangeMode === 'script' && ChangeScript ? [ChangeScript] : [],
  );
  return [
    ...[...new Set(signals)].map((signal) => ({ kind: 'signal', signal }) as const),
    ...scripts.map((script) => ({ kind: 'script', script }) as const),
  ];
}

/** Returns the longest splay of the templates, in nanoseconds. */
export const splayOf = (changed: readonly Template[]): number => Math.max(0, ...changed.map(({ Splay }) => Splay));

/** The number of missing inputs that a message names. */
const NAMED = 3;

export function missingText(missing: readonly string[]): string {
  const named = missing.slice(0, NAMED).join(', ');
  return `Missing: ${named}${missing.length > NAMED ? `, and ${missing.length - NAMED} more` : ''}`;
}
