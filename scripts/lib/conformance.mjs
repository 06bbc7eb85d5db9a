/**
 * Which test proves which requirement: the ids in brackets in the names of tests, held against docs/requirements.json.
 * Read from the sources as text, so that it needs neither a build nor a run; a skipped or planned test proves nothing.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const idPattern = /^[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*-\d+$/;

/** Reads the repository under `root`; `tests` has one entry for each id in each name. */
export function conformance(root) {
  const requirements = JSON.parse(readFileSync(join(root, 'docs/requirements.json'), 'utf8'));
  const tests = testFiles(root).flatMap((file) =>
    testNames(readFileSync(join(root, file), 'utf8')).flatMap((name) =>
      idsIn(name).map((id) => ({ id, file, name })),
    ),
  );
  return { requirements, tests, markdown: toMarkdown(requirements, tests) };
}

function testFiles(root) {
  return ['src', 'test']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, file)),
    )
    .filter((file) => file.endsWith('.test.ts'))
    .sort();
}

/** The names given to it, test and describe, as written: `it('…'`, `it.each(…)('…'`, `it.runIf(…)('…'`. */
export function testNames(text) {
  const names = [];
  for (const match of text.matchAll(/(?<![\w.])(?:it|test|describe)((?:\.\w+)*)\s*(?=[(`])/g)) {
    if (/\.(skip|todo)\b/.test(match[1])) continue;
    let at = match.index + match[0].length;
    if (/\.(each|for|runIf|skipIf)$/.test(match[1])) at = skipSpace(text, skipArguments(text, at));
    if (text[at] !== '(') continue;
    const start = skipSpace(text, at + 1);
    const end = skipString(text, start);
    if (end > start) names.push(text.slice(start + 1, end - 1));
  }
  return names;
}

/** `[IN-3]`, `[IN-3][IN-4]` and `[IN-3, IN-4]`. */
export function idsIn(name) {
  return [...name.matchAll(/\[([^\]]+)\]/g)]
    .flatMap((match) => match[1].split(','))
    .map((part) => part.trim())
    .filter((part) => idPattern.test(part));
}

/** From an opening parenthesis (or a template) to behind its end; strings inside may hold parentheses. */
function skipArguments(text, start) {
  if (text[start] !== '(') return skipString(text, start);
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    else if (text[at] === ')') depth -= 1;
    else if (text.startsWith('//', at)) at = lineEnd(text, at);
    else at = Math.max(at, skipString(text, at) - 1);
    if (depth === 0) return at + 1;
  }
  return text.length;
}

/** From a quote to behind its closing one; where no string begins, the same place. */
function skipString(text, start) {
  const quote = text[start];
  if (quote !== "'" && quote !== '"' && quote !== '`') return start;
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === quote) return at + 1;
  }
  return text.length;
}

function skipSpace(text, start) {
  let at = start;
  while (/\s/.test(text[at] ?? '')) at += 1;
  return at;
}

function lineEnd(text, start) {
  const end = text.indexOf('\n', start);
  return end < 0 ? text.length : end;
}

function toMarkdown(requirements, tests) {
  const ids = Object.keys(requirements);
  const proven = ids.filter((id) => tests.some((test) => test.id === id)).length;
  const lines = [
    '# Conformance',
    '',
    'Written by `npm run conformance` from `docs/requirements.json` and the names of the tests; do not edit.',
    `${ids.length} requirements, ${proven} with a test.`,
  ];
  for (const prefix of [...new Set(ids.map(prefixOf))].sort()) {
    lines.push('', `## ${prefix}`, '', '| id | requirement | tests |', '| --- | --- | --- |');
    for (const id of ids.filter((one) => prefixOf(one) === prefix).sort(byNumber)) {
      const cells = tests
        .filter((test) => test.id === id)
        .map(({ file, name }) => `\`${file}\`: ${cell(name)}`);
      lines.push(`| ${id} | ${cell(requirements[id])} | ${cells.join('<br>') || '**none**'} |`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** The ids in a test's name are the row's already; a pipe would end the cell, an angle bracket would be HTML. */
function cell(sentence) {
  const withoutIds = sentence.replace(/\[([^\]]+)\]\s*/g, (whole) => (idsIn(whole).length > 0 ? '' : whole));
  return withoutIds.replace(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;').trim();
}

function prefixOf(id) {
  return id.replace(/-\d+$/, '');
}

function byNumber(a, b) {
  return Number(a.slice(a.lastIndexOf('-') + 1)) - Number(b.slice(b.lastIndexOf('-') + 1));
}
