import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { useConfigurationFolder } from '../../test/support/configuration-folder.ts';

const { folder, write, judge } = useConfigurationFolder();

const http = (rest: string) => `{ name: a, source: shop, http: { ${rest} } }`;
const exec = (rest: string) => `{ name: a, source: shop, exec: { ${rest} } }`;
const unknownKey =
  'is not a known key; correct its spelling or remove it (known keys: docs/configuration.md)';

it('[IN-17][IN-18] sound http and exec handlers are taken', async () => {
  write('deploy.sh', '#!/bin/sh\n');
  chmodSync(join(folder(), 'deploy.sh'), 0o755);
  for (const handler of [
    http('url: "https://example.com/hooks"'),
    http('url: "http://127.0.0.1:9000/hooks", secretFile: [secret, secret], timeoutMs: 86400000'),
    http('url: "http://localhost/hooks"'),
    http('url: "http://billing.internal/hooks", allowPrivate: [10.1.0.0/16, "fd00::/8"]'),
    exec('command: [./deploy.sh, --fast], timeoutMs: 86400000, env: { STAGE: production, PORT: "5" }'),
    exec('command: [sh, -c, "exit 0"]'),
  ])
    await judge([handler], []);
});

it('[IN-17][IN-18] an entry is one kind, and has the keys of that kind alone', async () => {
  const more = 'source: shop, events: [push], concurrency: 2, maxDeaths: 1';
  await judge(
    [
      '{ name: none, source: shop }',
      '{ name: two, source: shop, module: ./handlers.js, exec: { command: [sh] } }',
      '{ name: three, module: ./handlers.js, http: { url: "https://example.com/" }, exec: { command: [sh] } }',
      '{ name: no-source, exec: { command: [sh] } }',
      `{ name: module, module: ./handlers.js, ${more} }`,
      '{ name: level, source: shop, timeoutMs: 5, url: "https://example.com/", exec: { command: [sh] } }',
      '{ name: exec, source: shop, exec: { command: [sh], url: x, allowPrivate: [], secretFile: secret, shell: true } }',
      '{ name: http, source: shop, http: { url: "https://example.com/", command: [sh], env: {}, headers: {} } }',
      '{ name: no-group, source: shop, exec: sh }',
    ],
    [
      'handlers[0]: must say what it is: a module, http or exec',
      'handlers[1]: is module and exec at once; write a handler for each',
      'handlers[2]: is module and http and exec at once; write a handler for each',
      'handlers[3].source: is missing: the code of the source whose events this handler gets',
      ...['source', 'events', 'concurrency', 'maxDeaths'].map(
        (key) => `handlers[4].${key}: is for http and exec; a module says it in on(...)`,
      ),
      ...['timeoutMs', 'url'].map((key) => `handlers[5].${key}: ${unknownKey}`),
      ...['url', 'allowPrivate', 'secretFile', 'shell'].map(
        (key) => `handlers[6].exec.${key}: ${unknownKey}`,
      ),
      ...['command', 'env', 'headers'].map((key) => `handlers[7].http.${key}: ${unknownKey}`),
      'handlers[8].exec: must be a group of keys, each on a line of its own',
    ],
  );
});

it('[IN-17][IN-18] one start shows every mistake, whatever else is wrong with its entry', async () => {
  write('short', 'tooshort');
  await judge(
    [
      '{ name: a, source: nobody, events: [], concurrency: 0, maxDeaths: 1.5, colour: red, http: { url: "http://10.0.0.5/", secretFile: short, timeoutMs: 0, x: 1 } }',
      '{ name: a, source: constructor, events: push, exec: { command: [./absent], timeoutMs: 86400001, env: { 1X: a }, x: 1 } }',
      '{ name: "", exec: { command: [] } }',
      '5',
    ],
    [
      'handlers[0].source: names nobody, which does not stand under sources; correct it or add it there',
      'handlers[0].events: must name a pattern; leave it out for all events',
      'handlers[0].concurrency: must be at least 1',
      'handlers[0].maxDeaths: must be a whole number',
      `handlers[0].colour: ${unknownKey}`,
      'handlers[0].http.url: leads to an address that is not public; a network of your own is opened with allowPrivate',
      'handlers[0].http.secretFile: the secret in {F}/short has 8 bytes; at least 16 are needed, make one with: openssl rand -hex 32',
      'handlers[0].http.timeoutMs: must be at least 1',
      `handlers[0].http.x: ${unknownKey}`,
      'handlers[1].name: is used twice (a); give this handler another name',
      'handlers[1].source: names constructor, which does not stand under sources; correct it or add it there',
      'handlers[1].events: must be a list of patterns such as push or pull_request.*',
      'handlers[1].exec.command: names {F}/absent, but there is no such file',
      'handlers[1].exec.timeoutMs: must be at most 86400000',
      'handlers[1].exec.env.1X: is no name of an environment variable: letters, digits and _, no digit first',
      `handlers[1].exec.x: ${unknownKey}`,
      'handlers[2].name: must be 1 to 64 of A-Z, a-z, 0-9, ., - and _',
      'handlers[2].source: is missing: the code of the source whose events this handler gets',
      'handlers[2].exec.command: must begin with a program',
      'handlers[3]: must be a group of keys, each on a line of its own',
    ],
  );
});

it('[IN-17] the URL of an http handler is judged with what it may open', async () => {
  const own = 'a network of your own is opened with allowPrivate';
  const cases: [rest: string, problem: string][] = [
    ['url: ""', 'must not be empty'],
    ['url: 5', 'must be the URL that gets the webhooks'],
    ['url: "example.com"', 'is no URL; write it whole, such as https://example.com/hooks'],
    ['url: "not a url"', 'holds a space, a control character or a backslash, or more than 2,048 characters'],
    [
      'url: "http://example.com/"',
      'must be https here; http is for loopback and for networks that allowPrivate opens',
    ],
    [
      'url: "ftp://example.com/"',
      'must be https here; http is for loopback and for networks that allowPrivate opens',
    ],
    ['url: "https://192.168.1.5/"', `leads to an address that is not public; ${own}`],
    [
      'url: "https://192.168.1.5/", allowPrivate: [10.0.0.0/8]',
      `leads to an address that is not public; ${own}`,
    ],
    ['url: "https://169.254.169.254/"', `leads to an address that is not public; ${own}`],
    ['url: "https://intranet/"', `names a host of an internal network, or no valid host name; ${own}`],
    ['url: "https://example.com:22/"', 'names a port that is never used for webhooks; choose another one'],
    [
      'url: "https://user:word@example.com/"',
      'holds a user name or password; use a header or the signature instead',
    ],
    ['url: "https://example.com/#part"', 'holds a fragment (#), which would never be sent'],
  ];
  for (const [rest, problem] of cases) await judge([http(rest)], [`handlers[0].http.url: ${problem}`]);
});

it('[IN-17] allowPrivate opens private networks only: never loopback, metadata or everything', async () => {
  const never = 'covers loopback, link-local or multicast addresses, which cannot be opened';
  for (const [network, problem] of [
    ['0.0.0.0/0', `0.0.0.0/0 ${never}`],
    ['127.0.0.0/8', `127.0.0.0/8 ${never}`],
    ['169.254.0.0/16', `169.254.0.0/16 ${never}`],
    ['"::/0"', `::/0 ${never}`],
    [
      '8.8.8.0/24',
      '8.8.8.0/24 is not private: only networks inside 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, fc00::/7 can be opened',
    ],
    ['10.0.0.1', '"10.0.0.1" is no network in CIDR notation, such as 10.20.0.0/16'],
  ])
    await judge(
      [http(`url: "https://10.0.0.5/", allowPrivate: [${network}]`)],
      [`handlers[0].http.allowPrivate: ${problem}`],
    );
  await judge(
    [http('url: "https://10.0.0.5/", allowPrivate: 10.0.0.0/8')],
    ['handlers[0].http.allowPrivate: must be a list of networks such as 10.0.0.0/8'],
  );
  const many = Array.from({ length: 33 }, (_, n) => `10.${n}.0.0/16`).join(', ');
  await judge(
    [http(`url: "https://10.0.0.5/", allowPrivate: [${many}]`)],
    ['handlers[0].http.allowPrivate: 33 networks are listed; at most 32 can be opened'],
  );
});

it('[IN-17] the secret of an http handler must be usable, and never stands in the message', async () => {
  write('short', 'tooshort');
  write('empty', '\n');
  await judge(
    [
      '{ name: a, source: shop, http: { url: "https://example.com/", secretFile: [secret, short] } }',
      '{ name: b, source: shop, http: { url: "https://example.com/", secretFile: nowhere } }',
      '{ name: c, source: shop, http: { url: "https://example.com/", secretFile: [] } }',
      '{ name: d, source: shop, http: { url: "https://example.com/", secretFile: [a, b, c] } }',
      '{ name: e, source: shop, http: { url: "https://example.com/", secretFile: 5 } }',
      '{ name: f, source: shop, http: { url: "https://example.com/", secretFile: empty } }',
    ],
    [
      'handlers[0].http.secretFile: the secret in {F}/short has 8 bytes; at least 16 are needed, make one with: openssl rand -hex 32',
      'handlers[1].http.secretFile: the secret in {F}/nowhere does not exist',
      'handlers[2].http.secretFile: must be the path of a file, or of two while a secret rotates',
      ...[3, 4].map(
        (n) =>
          `handlers[${n}].http.secretFile: must be the path of a file, or a list of two while a secret rotates`,
      ),
      'handlers[5].http.secretFile: the secret in {F}/empty is empty; make one with: openssl rand -hex 32',
    ],
  );
});

it('[IN-18] the program of an exec handler must be there and executable', async () => {
  write('plain', '#!/bin/sh\n');
  write('file', '');
  const named = 'handlers[0].exec.command: names';
  await judge([exec('command: [./absent]')], [`${named} {F}/absent, but there is no such file`]);
  await judge([exec('command: [./file/x]')], [`${named} {F}/file/x, but there is no such file`]);
  await judge([exec('command: [.//]')], [`${named} {F}, which is a folder; name a file`]);
  await judge(
    [exec('command: [./plain]')],
    [`${named} {F}/plain, which may not be executed; mend it with: chmod +x {F}/plain`],
  );
  await judge(
    [exec('command: [plain]')],
    [`${named} plain, which is in no folder of PATH; a program beside the configuration is ./plain`],
  );
  await judge(
    [exec('command: [sh], env: { PATH: /nowhere }')],
    [`${named} sh, which is in no folder of PATH; a program beside the configuration is ./sh`],
  );
});

it('[IN-18] command and environment are lists of texts that a process can get', async () => {
  const name = 'is no name of an environment variable: letters, digits and _, no digit first';
  const kept = 'begins with WEBHOOK_, which is kept for the webhook itself; take another name';
  const quotes = 'must be a text; put numbers, true and false in quotes';
  await judge(
    [
      '{ name: a, source: shop, exec: { command: "sh -c x" } }',
      '{ name: b, source: shop, exec: { command: [" "] } }',
      '{ name: c, source: shop, exec: { command: [sh, 5, "a\\0b"] } }',
      '{ name: d, source: shop, exec: { command: [sh], env: { A-B: x, "": x, WEBHOOK_SOURCE: x, N: 5, T: true, Z: "a\\0" } } }',
      '{ name: e, source: shop, exec: { command: [sh], env: [A] } }',
    ],
    [
      'handlers[0].exec.command: must be a list: a program and its arguments, such as ["./deploy.sh", "--fast"]',
      'handlers[1].exec.command: must begin with a program',
      'handlers[2].exec.command[1]: must be a text; put numbers in quotes',
      'handlers[2].exec.command[2]: must not hold NUL',
      `handlers[3].exec.env.A-B: ${name}`,
      `handlers[3].exec.env."": ${name}`,
      `handlers[3].exec.env.WEBHOOK_SOURCE: ${kept}`,
      `handlers[3].exec.env.N: ${quotes}`,
      `handlers[3].exec.env.T: ${quotes}`,
      'handlers[3].exec.env.Z: must not hold NUL',
      'handlers[4].exec.env: must map names of environment variables to texts',
    ],
  );
});
