import { errorText, MAX_DRIVER_SCHEMA_CHARS } from '@waybill/model';
import { ConfigError, type ConfigSchema, specText } from '@waybill/plugins';
import type { Logger } from '@waybill/telemetry';
import { StartError, type TaskConfig, TaskConfigError, type TaskPaths } from '../driver.js';

export interface TaskConfigSchemaDependencies {
  readonly driver: string;
  /** Asks the plugin for the schema. @throws the plugin's error */
  readonly ask: () => Promise<ConfigSchema>;
  /** Called when the schema for the servers has changed. */
  readonly changed: () => void;
  readonly logger: Logger;
}

/**
 * TaskConfigSchema knows how a driver plugin wants the `config` of a task.
 *
 * The plugin is asked anew for each task (PG-51), and the validation and the start of a task use the same schema. The
 * last schema is what the machine reports to the servers (PG-47), if it has at most MAX_DRIVER_SCHEMA_CHARS. Memory: a
 * schema for each task that is being prepared.
 */
export class TaskConfigSchema {
  /** By the paths of a task that is being prepared: each preparation has an object of its own. */
  private readonly prepared = new WeakMap<TaskPaths, ConfigSchema>();
  private reportedText = '';
  /** The last schema that was too long, so that each is logged once. */
  private longText: string | undefined;

  constructor(private readonly deps: TaskConfigSchemaDependencies) {}

  /** The schema for the servers as JSON: empty until the plugin has said it, and if it is too long. */
  get reported(): string {
    return this.reportedText;
  }

  /** Asks the plugin. @throws the plugin's error */
  async refresh(): Promise<ConfigSchema> {
    const schema = await this.deps.ask();
    this.report(specText(schema.spec));
    return schema;
  }

  /** Validates the configuration of a task, and encodes it. @throws TaskConfigError, StartError */
  async encode({ config, paths }: TaskConfig): Promise<Uint8Array> {
    try {
      const schema = this.prepared.get(paths) ?? (await this.refresh());
      this.prepared.set(paths, schema);
      return schema.encode(config);
    } catch (error) {
      if (error instanceof ConfigError) throw new TaskConfigError(`failed to parse config: ${error.message}`);
      throw new StartError(errorText(error), true);
    }
  }

  private report(text: string): void {
    const { driver, changed, logger } = this.deps;
    const isTooLong = text.length > MAX_DRIVER_SCHEMA_CHARS;
    if (isTooLong && this.longText !== text)
      logger.warn('the schema of a driver plugin is too long, so only machines validate its tasks', {
        driver,
        characters: text.length,
        most: MAX_DRIVER_SCHEMA_CHARS,
      });
    this.longText = isTooLong ? text : undefined;
    const reported = isTooLong ? '' : text;
    if (reported === this.reportedText) return;
    this.reportedText = reported;
    changed();
  }
}
