import { type ConfigFault, isInterpolated } from '../config-fault.js';
import { ConfigDecoder, ConfigError } from './config-decoder.js';
import { type ConfigPart, configPart } from './config-part.js';
import { encodeConfig } from './config-encoding.js';
import type { SpecMessage } from './spec-message.js';

/** The schema of a plugin's configuration, or of the `config` block of its tasks (section 4 of the reference). */
export class ConfigSchema {
  private constructor(
    private readonly part: ConfigPart,
    /** The schema as the plugin sent it. */
    readonly spec: SpecMessage,
  ) {}

  /** @throws InvalidSchemaError, JobspecError */
  static of(spec: SpecMessage): ConfigSchema {
    return new ConfigSchema(configPart(spec), spec);
  }

  /** Parses the text that `specText` made. @throws SyntaxError, TypeError, InvalidSchemaError, JobspecError */
  static fromText(text: string): ConfigSchema {
    return ConfigSchema.of(JSON.parse(text) as SpecMessage); // each part is looked at before it is used
  }

  /** Validates a configuration and encodes it as MsgPack. @throws ConfigError */
  encode(config: Readonly<Record<string, unknown>>): Uint8Array {
    return encodeConfig(new ConfigDecoder().decode(this.part, config));
  }

  /** Returns the faults that no interpolation can repair: a value with `${…}` may become any value (PG-42). */
  faultsOf(config: Readonly<Record<string, unknown>>): readonly ConfigFault[] {
    try {
      new ConfigDecoder(isInterpolated).decode(this.part, config);
      return [];
    } catch (error) {
      if (error instanceof ConfigError) return error.faults;
      throw error;
    }
  }
}
