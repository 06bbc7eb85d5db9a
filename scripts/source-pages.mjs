/** `npm run pages`: writes docs/sources, a page for each sender, from the catalogue and the guides. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { sourcePages } from '../src/inbound/guides/page.ts';
import { root, say } from './lib/prepare.mjs';

const folder = `${root}docs/sources/`;
mkdirSync(folder, { recursive: true });
const pages = sourcePages();
for (const name of readdirSync(folder)) if (!pages.has(name)) rmSync(`${folder}${name}`);
for (const [name, text] of pages) writeFileSync(`${folder}${name}`, text);
say(`wrote ${pages.size} pages into docs/sources`);
