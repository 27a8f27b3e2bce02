// Services, command line and pages, each put into few files where something of it changed, all at once: a start of
// `npm start` that finds them all as they should be costs one process.
await Promise.all([import('./bundle.mjs'), import('../apps/cli/bundle.mjs'), import('../apps/ui/bundle.mjs')]);
