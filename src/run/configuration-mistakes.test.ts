import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { useConfigurationFolder } from '../../test/support/configuration-folder.ts';

const { folder, judge } = useConfigurationFolder();

it('[IN-17][IN-18] mistakes that stand beside each other do not hide one another', async () => {
  const own =
    'is not private: only networks inside 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, fc00::/7 can be opened';
  const notHttps = 'must be https here; http is for loopback and for networks that allowPrivate opens';
  await judge(
    [
      '{ name: a, source: shop, http: { url: "ftp://x/", allowPrivate: 10.0.0.0/8, secretFile: [nowhere, 5] } }',
      '{ name: b, source: shop, http: { url: "http://8.8.8.8/", allowPrivate: [5, 8.8.8.0/24] } }',
      '{ name: c, source: shop, http: { url: "http://10.0.0.5/", allowPrivate: [10.0.0.0] } }',
      '{ name: d, source: shop, http: { url: "not a url", allowPrivate: [x] }, exec: { command: [" ", 5], env: { A-B: c } } }',
      '{ name: e, source: shop, exec: { command: [./absent, 5], env: { N: 5 } } }',
    ],
    [
      'handlers[0].http.url: must be https here; http is for loopback and for networks that allowPrivate opens',
      'handlers[0].http.allowPrivate: must be a list of networks such as 10.0.0.0/8',
      'handlers[0].http.secretFile[1]: must be the path of a file',
      'handlers[0].http.secretFile: the secret in {F}/nowhere does not exist',
      `handlers[1].http.url: ${notHttps}`,
      'handlers[1].http.allowPrivate[0]: must be a network such as 10.0.0.0/8',
      `handlers[1].http.allowPrivate: 8.8.8.0/24 ${own}`,
      'handlers[2].http.allowPrivate: "10.0.0.0" is no network in CIDR notation, such as 10.20.0.0/16',
      'handlers[3]: is http and exec at once; write a handler for each',
      'handlers[3].http.url: holds a space, a control character or a backslash, or more than 2,048 characters',
      'handlers[3].http.allowPrivate: "x" is no network in CIDR notation, such as 10.20.0.0/16',
      'handlers[3].exec.command: must begin with a program',
      'handlers[3].exec.command[1]: must be a text; put numbers in quotes',
      'handlers[3].exec.env.A-B: is no name of an environment variable: letters, digits and _, no digit first',
      'handlers[4].exec.command: names {F}/absent, but there is no such file',
      'handlers[4].exec.command[1]: must be a text; put numbers in quotes',
      'handlers[4].exec.env.N: must be a text; put numbers, true and false in quotes',
    ],
  );
});

it('[IN-12][IN-17][IN-18] what is of the wrong kind is one mistake, and what is not there is missing', async () => {
  const module = 'the path of a module whose default export is (on) => { on(source, pattern, handler) }';
  const list = 'must be a list: a program and its arguments, such as ["./deploy.sh", "--fast"]';
  await judge(
    [
      '{ name: a, module: [] }',
      '{ module: ./handlers.js }',
      '{ name: , module: }',
      '{ name: b, source: shop, events: "", http: { url: [], secretFile: [[]] } }',
      '{ name: c, source: shop, http: {} }',
      '{ name: d, source: shop, exec: {} }',
      '{ name: e, source: shop, exec: { command: "" } }',
    ],
    [
      `handlers[0].module: must be ${module}`,
      'handlers[1].name: is missing; it must be a text that names this handler',
      'handlers[2].name: has no value; it must be a text that names this handler',
      `handlers[2].module: has no value; it must be ${module}`,
      'handlers[3].events: must be a list of patterns such as push or pull_request.*',
      'handlers[3].http.url: must be the URL that gets the webhooks',
      'handlers[3].http.secretFile[0]: must be the path of a file',
      'handlers[4].http.url: is missing; it must be the URL that gets the webhooks',
      `handlers[5].exec.command: is missing; it ${list}`,
      `handlers[6].exec.command: ${list}`,
    ],
  );
});

it('[IN-12][IN-17] a folder in place of a file is called one', async () => {
  const folderThere = 'names {F}/handlers, which is a folder; name a file';
  mkdirSync(join(folder(), 'handlers'));
  await judge(
    [
      '{ name: a, module: ./handlers }',
      '{ name: b, source: shop, exec: { command: [./handlers] } }',
      '{ name: c, source: shop, http: { url: "https://example.com/", secretFile: handlers } }',
    ],
    [
      `handlers[0].module: ${folderThere}`,
      `handlers[1].exec.command: ${folderThere}`,
      'handlers[2].http.secretFile: the secret in {F}/handlers cannot be read: that is a folder; name a file',
    ],
  );
});
