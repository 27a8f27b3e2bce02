import type { ServiceDefinition } from './definition.js';
import { type Settings, SettingsError } from './settings.js';

/** @throws SettingsError with what the service does not start with, though each setting is right by itself */
export function assertStartable({ refuses }: ServiceDefinition, settings: Settings): void {
  const problems = refuses?.(settings) ?? [];
  if (problems.length > 0) throw new SettingsError(problems);
}
