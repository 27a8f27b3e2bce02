/** Returns the path of a request as it was sent. */
export const pathOf = (url: string): string => url.split('?', 1)[0] ?? '';
