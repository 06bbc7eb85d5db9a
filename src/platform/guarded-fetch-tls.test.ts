import { type AddressInfo, createServer } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import {
  okAnswer,
  pem,
  publicAddress,
  standInFetch,
  startTarget,
} from '../../test/support/stand-in-target.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const each of open.splice(0)) await each.close();
});

const name = 'hook.example.test';
const tls = { ok: false, reason: 'tls' };

it('[EGR-3] SNI, Host and the certificate check keep the name, although an address is connected to', async () => {
  const { target, send } = await secure('server');
  expect(await send(`https://${name}:${target.port}/`)).toMatchObject({ ok: true, status: 200 });
  expect(await send(`https://${name}.:${target.port}/`)).toMatchObject({ ok: true, status: 200 });
  expect(target.connections).toEqual([name, name]);
  expect(target.requests[0]).toMatch(new RegExp(`\r\nhost: ${name}:${target.port}\r\n`));
});

it('[EGR-3] a certificate for an address is checked for the address of the URL', async () => {
  const { target, send } = await secure('server');
  expect(await send(`https://${publicAddress}:${target.port}/`)).toMatchObject({ ok: true });
  const other = await secure('wrong-name');
  expect(await other.send(`https://${publicAddress}:${other.target.port}/`)).toEqual(tls);
});

it.each([
  ['for another name', 'wrong-name', pem('ca')],
  ['that expired', 'expired', pem('ca')],
  ['that is self-signed', 'self-signed', pem('ca')],
  ['of an authority that is not trusted', 'server', pem('self-signed')],
])('[EGR-3] a certificate %s is refused and nothing is sent', async (_, certificate, ca) => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  const { target, send } = await secure(certificate, ca);
  expect(await send(`https://${name}:${target.port}/`)).toEqual(tls);
  expect(target.requests).toEqual([]);
});

it('[EGR-7] a self-signed certificate is trusted once it is given as an authority', async () => {
  const { target, send } = await secure('self-signed', pem('self-signed'));
  expect(await send(`https://${name}:${target.port}/`)).toMatchObject({ ok: true });
});

it('[EGR-3] https to a server that does not speak TLS is a failure of TLS', async () => {
  const target = createServer((socket) =>
    socket
      .on('error', () => undefined)
      .resume()
      .end('SSH-2.0-x\r\n'),
  );
  await new Promise<void>((done) => target.listen(0, '127.0.0.1', done));
  const fetch = standInFetch({ [name]: [publicAddress] });
  open.push(target, fetch);
  expect(await fetch.send(`https://${name}:${(target.address() as AddressInfo).port}/`)).toEqual(tls);
});

async function secure(certificate: string, ca: string | undefined = pem('ca')) {
  const target = await startTarget(okAnswer, { certificate });
  const { send, close } = standInFetch({ [name]: [publicAddress] }, { ca });
  open.push(target, { close });
  return { target, send };
}
