import { ConfigDecoder } from './config-decoder.js';
import { type ConfigPart, configPart } from './config-part.js';
import { encodeConfig } from './config-encoding.js';
import type { SpecMessage } from './spec-message.js';

/** The schema of a plugin's configuration, or of the `config` block of its tasks (section 4 of the reference). */
export class ConfigSchema {
  private constructor(private readonly part: ConfigPart) {}

  /** @throws InvalidSchemaError, JobspecError */
  static of(spec: SpecMessage): ConfigSchema {
    return new ConfigSchema(configPart(spec));
  }

  /** Validates a configuration and encodes it as MsgPack. @throws ConfigError */
  encode(config: Readonly<Record<string, unknown>>): Uint8Array {
    return encodeConfig(new ConfigDecoder().decode(this.part, config));
  }
}
