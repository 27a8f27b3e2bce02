import { type Clock, type Template, type Timers, errorText } from '@waybill/model';
import { ifRunning } from '../task-not-running.js';
import { envLines } from '../templates/env-lines.js';
import { fileSource, MAX_TEMPLATE_FILE_BYTES } from '../templates/file-source.store.js';
import { sourcePath, writeRendered } from '../templates/rendered-file.store.js';
import { TaskTemplates } from '../templates/task-templates.js';
import type { TemplateAction } from '../templates/template-changes.js';
import { TemplateInputs } from '../templates/template-inputs.js';
import type { LoginSources, ServerSources } from '../templates/template-source.js';
import { readInside } from '../../paths/inside-allocation.store.js';
import { HookError, type TaskAdditions, type TaskHook, type TaskStart } from '../task-hook.js';

export interface TemplateHookDependencies {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Returns the part of the servers' data that a task may see. */
  readonly servers: (allocId: string, task: string) => ServerSources;
  /** Returns the sources of a task at Vault and Consul. Absent if this machine knows neither. */
  readonly logins?: (allocId: string, task: string) => LoginSources;
}

const RENDERED_AGAIN = 'Template with change_mode restart re-rendered';

/**
 * TemplateHook renders a task's templates before each start, and updates them while it runs (AG-292, AG-293, AG-118).
 */
export class TemplateHook implements TaskHook {
  readonly name = 'template';

  constructor(private readonly deps: TemplateHookDependencies) {}

  async prestart(start: TaskStart): Promise<TaskAdditions | void> {
    if ((start.task.Templates ?? []).length === 0) return;
    try {
      const templates = await this.startTemplates(start);
      await templates.first();
      return { env: envOf(templates) };
    } catch (error) {
      if (start.signal.aborted) throw error;
      const details = { kill_reason: failureOf(error), fails_task: 'true' };
      throw new HookError(failureOf(error), false, { type: 'Killing', details }, { cause: error });
    }
  }

  /** Renders for a task that continued without the agent, and informs the task of changes in the meantime. */
  async restore(start: TaskStart): Promise<void> {
    if ((start.task.Templates ?? []).length === 0) return;
    const templates = await this.startTemplates(start);
    templates.scheduleActions(await templates.first());
  }

  private async startTemplates(start: TaskStart): Promise<TaskTemplates> {
    // The template language and YAML are about ninety modules. A machine without templates does not load them.
    const { TemplateRendering } = await import('../templates/template-rendering.js');
    const { clock, timers, random } = this.deps;
    const { taskDir } = start.config.paths;
    const over = AbortSignal.any([start.over, start.signal]);
    const [allocId, task] = [start.alloc.ID, start.task.Name];
    const sources = {
      ...this.deps.servers(allocId, task),
      ...this.deps.logins?.(allocId, task),
      file: fileSource(taskDir, timers),
    };
    const inputs = new TemplateInputs(sources, () => templates.handleInput(), over);
    const facts = { inputs, lookup: start.lookup, clock };
    const renderings = await Promise.all(
      (start.task.Templates ?? []).map(async (given) => {
        const spec = interpolatedTemplate(given, start.interpolate);
        return new TemplateRendering(spec, await sourceOf(spec, taskDir), facts);
      }),
    );
    const templates: TaskTemplates = new TaskTemplates(
      renderings,
      {
        timers,
        random,
        write: (spec, text) => writeRendered(taskDir, spec, text),
        emit: (type, details) => start.emit(type, details),
        // A task that just ended, or waits for its next start, renders again before it starts.
        act: (action) => ifRunning(runAction(action, start)),
        failed: (error) => void start.control.kill({ kill_reason: failureOf(error), fails_task: 'true' }),
        over,
      },
      () => clock.nowMs(),
    );
    return templates;
  }
}

async function runAction(action: TemplateAction, { control }: TaskStart): Promise<void> {
  switch (action.kind) {
    case 'restart':
      return control.restart(RENDERED_AGAIN);
    case 'signal':
      return control.signal(action.signal, {
        task_signal: action.signal,
        task_signal_reason: 'Template re-rendered',
      });
    case 'script':
      return control.runScript(action.script);
  }
}

/** @throws EnvLineError */
const envOf = (templates: TaskTemplates): Record<string, string> =>
  Object.assign({}, ...templates.envTexts().map(envLines)) as Record<string, string>;

const failureOf = (error: unknown): string => `Template failed: ${errorText(error)}`;

/** Returns the text of a template. @throws EscapesError, or the error of reading */
async function sourceOf(spec: Template, taskDir: string): Promise<string> {
  if (spec.SourcePath === '') return spec.EmbeddedTmpl;
  return readInside(taskDir, await sourcePath(taskDir, spec.SourcePath), MAX_TEMPLATE_FILE_BYTES);
}

/** Returns the template with the variables in both paths replaced (AG-234). */
export const interpolatedTemplate = (spec: Template, interpolate: (text: string) => string): Template => ({
  ...spec,
  SourcePath: interpolate(spec.SourcePath),
  DestPath: interpolate(spec.DestPath),
});
