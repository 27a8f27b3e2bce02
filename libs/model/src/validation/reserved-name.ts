/**
 * Names that every object has without being given them (`constructor`, `toString`, `__proto__` …). Maps by the names of
 * groups and tasks are plain objects on the wire and everywhere; under these names they would seem to hold what they do not.
 */
export const isReservedName = (name: string): boolean => name in {};
