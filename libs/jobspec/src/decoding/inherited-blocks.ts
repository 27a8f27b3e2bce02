import { groupSchema } from './group-schema.js';
import { type Json, type JsonObject, objectsIn } from './json.js';
import { emptyOf } from './empty-object.js';

/** Moves blocks of the job into groups and tasks: tasks without a group (JS-155), vault and secrets (JS-153). */
export function inheritedBlocks({ $tasks, $vault, $secrets, ...job }: JsonObject): JsonObject {
  const alone = objectsIn($tasks).map((task) => ({
    ...emptyOf(groupSchema),
    Name: task['Name'] ?? '',
    Tasks: [task],
  }));
  const groups = [...alone, ...objectsIn(job['TaskGroups'])].map((group) => withInherited(group, $vault, $secrets));
  return { ...job, TaskGroups: groups.length === 0 ? null : groups };
}

function withInherited(
  { $vault, $secrets, ...group }: JsonObject,
  jobVault: Json | undefined,
  jobSecrets: Json | undefined,
): JsonObject {
  const outer = [...objectsIn($secrets), ...objectsIn(jobSecrets)];
  const tasks = objectsIn(group['Tasks']).map((task): JsonObject => {
    const secrets = [...objectsIn(task['Secrets']), ...outer];
    return {
      ...task,
      Vault: task['Vault'] ?? $vault ?? jobVault ?? null,
      Secrets: secrets.length === 0 ? null : secrets,
    };
  });
  return { ...group, Tasks: tasks.length === 0 ? null : tasks };
}
