/**
 * `npm start [-- arguments of posthorn serve]`: from a fresh clone to a running server with the example's configuration.
 * The server runs in this very process: signals, exit codes and the terminal are its own.
 */
import { ensureBuilt, ensureInstalled, root } from './lib/prepare.mjs';

ensureInstalled();
ensureBuilt();

const extra = process.argv.slice(2);
const chosen = process.env.POSTHORN_CONFIG || extra.some((arg) => /^(--config(=|$)|-c)/.test(arg));
const example = chosen ? [] : ['--config', `${root}examples/quickstart/posthorn.yaml`];
process.argv = [process.execPath, `${root}dist/cli/posthorn.js`, 'serve', ...example, ...extra];
await import('../dist/cli/posthorn.js');
