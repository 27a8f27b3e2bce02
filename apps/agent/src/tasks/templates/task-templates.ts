import { type CancelTimer, msFromNs, type Template, type Timers } from '@waybill/model';
import type { TemplateRendering } from './template-rendering.js';
import { WaitNotice } from '../../waiting/wait-notice.js';
import { actionsOf, missingText, splayOf, type TemplateAction } from './template-changes.js';

export interface TaskTemplatesDependencies {
  readonly timers: Timers;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Writes the file. @returns whether its text has changed */
  readonly write: (spec: Template, text: string) => Promise<boolean>;
  readonly emit: (type: string, details: Record<string, string>) => void;
  readonly act: (action: TemplateAction) => Promise<void>;
  /** Is called if a template failed after its task had started. */
  readonly failed: (error: unknown) => void;
  /** Aborted when the task has ended. */
  readonly over: AbortSignal;
}

/**
 * TaskTemplates are the templates of one start of a task (AG-292).
 *
 * States: rendering → watching → stopped. rendering: until all inputs are known and all files are written; missing
 * inputs become an event. watching: after a change, and a quiet time if a template wants one (`wait`), all templates
 * are rendered again. If a file has changed, the task is informed as its templates say. That happens after a random
 * part of the longest splay, together with changes in the meantime. One rendering at a time; changes during a rendering
 * cause another one. A failure ends it. Cost of a change: all templates of the task are rendered. One or two timers.
 */
export class TaskTemplates {
  private mode: 'rendering' | 'watching' | 'stopped' = 'rendering';
  private isBusy = false;
  private isStale = false;
  private isSplaying = false;
  private readonly notice: WaitNotice;
  private cancelQuiet: CancelTimer = () => {};
  private cancelSplay: CancelTimer = () => {};
  private quietUntilMs = 0;
  private waiting: Template[] = [];
  private settleFirst: (error?: unknown) => void = () => {};
  private readonly texts = new Map<Template, string>();

  constructor(
    private readonly renderings: readonly Pick<TemplateRendering, 'spec' | 'render'>[],
    private readonly deps: TaskTemplatesDependencies,
    private readonly nowMs: () => number,
  ) {
    this.notice = new WaitNotice(deps.timers, (message) => deps.emit('Template', { message }));
    deps.over.addEventListener('abort', () => this.stop(), { once: true });
  }

  /**
   * Resolves when all files are written, with the templates whose file has changed.
   * @throws TemplateError, or the error of writing a file
   */
  first(): Promise<readonly Template[]> {
    return new Promise((resolve, reject) => {
      this.settleFirst = (error) => (error === undefined ? resolve(this.waiting.splice(0)) : reject(error));
      if (this.deps.over.aborted) return this.stop();
      void this.render();
    });
  }

  /** Returns the last text of each template that defines environment variables (AG-293). */
  envTexts(): string[] {
    return [...this.texts].filter(([spec]) => spec.Envvars).map(([, text]) => text);
  }

  /** Handles a new or changed input. */
  handleInput(): void {
    if (this.mode === 'rendering') return void this.render();
    if (this.mode === 'stopped') return;
    const { minMs, maxMs } = this.quietTimes();
    const nowMs = this.nowMs();
    if (this.quietUntilMs <= nowMs) this.quietUntilMs = nowMs + maxMs;
    this.cancelQuiet();
    this.cancelQuiet = this.deps.timers.after(Math.min(minMs, this.quietUntilMs - nowMs), () => void this.render());
  }

  /**
   * Informs the task of changed files. After a restart of the agent, these are files that the task has not seen yet.
   */
  scheduleActions(changed: readonly Template[]): void {
    for (const item of changed) this.waiting.push(item);
    if (this.isSplaying) return; // the running splay covers these changes, too
    if (actionsOf(this.waiting).length === 0) return void this.waiting.splice(0);
    this.isSplaying = true;
    const splayMs = msFromNs(splayOf(this.waiting)) * this.deps.random();
    this.cancelSplay = this.deps.timers.after(splayMs, () => {
      this.isSplaying = false;
      for (const action of actionsOf(this.waiting.splice(0)))
        this.deps.act(action).catch((error: unknown) => this.fail(error));
    });
  }

  private async render(): Promise<void> {
    this.isStale = true;
    if (this.isBusy) return;
    this.isBusy = true;
    try {
      while (this.isStale && !this.isStopped()) {
        this.isStale = false;
        await this.renderOnce();
      }
    } catch (error) {
      this.fail(error);
    } finally {
      this.isBusy = false;
    }
  }

  private async renderOnce(): Promise<void> {
    const wanted = this.renderings.filter(({ spec }) => this.mode === 'rendering' || !spec.Once);
    const texts = new Map<Template, string>();
    const missing = new Set<string>();
    for (const rendering of wanted) {
      const rendered = rendering.render();
      if ('text' in rendered) texts.set(rendering.spec, rendered.text);
      else for (const one of rendered.missing) missing.add(one);
    }
    this.notice.setReason(missing.size > 0 ? missingText([...missing]) : '');
    if (missing.size > 0) return;
    const changed: Template[] = [];
    for (const [spec, text] of texts) {
      if (await this.deps.write(spec, text)) changed.push(spec);
      this.texts.set(spec, text);
    }
    if (this.isStopped()) return;
    if (this.mode === 'watching') return changed.length > 0 ? this.scheduleActions(changed) : undefined;
    this.mode = 'watching';
    this.waiting = changed;
    this.settleFirst();
  }

  private fail(error: unknown): void {
    if (this.isStopped()) return;
    const isFirst = this.mode === 'rendering';
    this.stop(error);
    if (!isFirst) this.deps.failed(error);
  }

  /** Stops the templates. A pending `first` is rejected. */
  private stop(error: unknown = new Error('the task ended')): void {
    const wasFirst = this.mode === 'rendering';
    this.mode = 'stopped';
    this.notice.setReason('');
    this.cancelQuiet();
    this.cancelSplay();
    if (wasFirst) this.settleFirst(error);
  }

  private isStopped(): boolean {
    return this.mode === 'stopped';
  }

  /**
   * Returns the quiet time. The longest times of all templates count. Without a maximum it is four times the minimum.
   */
  private quietTimes(): { minMs: number; maxMs: number } {
    const of = (field: 'Min' | 'Max'): number =>
      msFromNs(Math.max(0, ...this.renderings.map(({ spec }) => spec.Wait?.[field] ?? 0)));
    const minMs = of('Min');
    return { minMs, maxMs: Math.max(minMs, of('Max') || minMs * 4) };
  }
}
