const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Says whether a text in lower case is a UUID, the form of accessors and of secrets. */
export const isUuid = (text: string): boolean => UUID.test(text);
