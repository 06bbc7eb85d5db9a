import { type KeyObject, X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';

type Judged = { readonly key: KeyObject; readonly validUntil: number } | { readonly problem: string };

/** Names that a certificate for signing bears, by the host that it was fetched from. */
const subjects: readonly { readonly host: RegExp; readonly subject: RegExp }[] = [
  { host: /\.amazonaws\.com(\.cn)?$/, subject: /^sns\.([a-z0-9-]+\.)?amazonaws\.com(\.cn)?$/ },
  { host: /\.paypal\.com$/, subject: /^messageverificationcerts\.([a-z0-9-]+\.)*paypal\.com$/ },
];

const mostCertificates = 6;
const leastRsaBits = 2_048;

/**
 * Judges the PEM text of a signing certificate with what chain comes with it: it is valid now, bears the sender's name, holds
 * an RSA key, and each certificate is signed by the next. Where the chain is there to its end, an authority that we trust
 * must have signed it; a certificate that comes alone (AWS SNS publishes it so) rests on the connection that it came over,
 * which was to the sender's own host.
 */
export function judgeCertificate(
  pem: string,
  { url, now, roots = rootCertificates }: { url: string; now: number; roots?: readonly string[] },
): Judged {
  const texts = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const chain = texts.slice(0, mostCertificates).map(parse);
  const [leaf] = chain;
  if (leaf === undefined || chain.includes(undefined)) return { problem: 'it is no certificate in PEM' };
  const certificates = chain as X509Certificate[];
  if (certificates.some((each) => now < Date.parse(each.validFrom) || now > Date.parse(each.validTo)))
    return { problem: 'it is not valid at this time' };
  const expected = subjects.find(({ host }) => host.test(new URL(url).host))?.subject;
  if (expected === undefined || !namesOf(leaf).some((name) => expected.test(name)))
    return { problem: 'it bears the name of somebody else' };
  const key = leaf.publicKey;
  if (key.asymmetricKeyType !== 'rsa' || (key.asymmetricKeyDetails?.modulusLength ?? 0) < leastRsaBits)
    return { problem: 'its key is no RSA key of 2048 bits or more' };
  if (!isChained(certificates, roots)) return { problem: 'it is not signed by an authority that is trusted' };
  return { key, validUntil: Date.parse(leaf.validTo) };
}

function parse(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text);
  } catch {
    return undefined;
  }
}

function namesOf(certificate: X509Certificate): string[] {
  const subject = /^CN=(.+)$/m.exec(certificate.subject)?.[1];
  const others = [...(certificate.subjectAltName ?? '').matchAll(/DNS:([^,\s]+)/g)].map(
    (match) => match[1] ?? '',
  );
  return subject === undefined ? others : [subject, ...others];
}

function isChained(certificates: readonly X509Certificate[], roots: readonly string[]): boolean {
  for (const [index, certificate] of certificates.entries()) {
    const issuer = certificates[index + 1];
    if (issuer !== undefined && !isSignedBy(certificate, issuer)) return false;
  }
  if (certificates.length === 1) return true;
  const last = certificates[certificates.length - 1] as X509Certificate;
  return roots
    .map(parse)
    .some(
      (root) => root !== undefined && (root.fingerprint256 === last.fingerprint256 || isSignedBy(last, root)),
    );
}

function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}
