/** Go's `text/template`, as far as job templates and the output option `-t` of the command line use it. */
export const TEMPLATE_DELIMITERS = { left: '{{', right: '}}' } as const;
