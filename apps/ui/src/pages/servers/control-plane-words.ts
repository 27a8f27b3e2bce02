/** Returns how far something is behind the log. */
export const lagInWords = (indexes: number): string =>
  indexes === 0 ? 'up to date' : `${indexes.toLocaleString('en')} behind`;

/** Returns the services by name with their number: `api ×2, broker`. */
export function servicesInWords(services: readonly { readonly Service: string }[]): string {
  const counts = new Map<string, number>();
  for (const { Service } of services) counts.set(Service, (counts.get(Service) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(', ') || 'none';
}
