/** `npm run build`: dist/ from src/, from a fresh clone as well. */
import { ensureBuilt, ensureInstalled } from './lib/prepare.mjs';

ensureInstalled();
ensureBuilt();
