import type { X509Certificate } from "@peculiar/x509";

/*
 * Certificates of the authority that opens TLS at the edge. The library is loaded when the first one is made: most servers only read the authority's
 * certificate, and loading takes longer than the rest of a start.
 */

const DAY_MS = 86_400_000;
/** Lifetimes. Clocks inside may be a little behind, so each begins a day before it is made. */
const LIFETIME = { authority: 3650 * DAY_MS, leaf: 30 * DAY_MS } as const;
const KEYS = { name: "ECDSA", namedCurve: "P-256" } as const;
const SIGNATURE = { name: "ECDSA", hash: "SHA-256" } as const;

/** A certificate and its key in PEM form. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

async function library(): Promise<typeof import("@peculiar/x509")> {
  // The library finds its algorithms by metadata, which the language lacks.
  await import("reflect-metadata");
  return import("@peculiar/x509");
}

export const newKeys = (): Promise<CryptoKeyPair> => crypto.subtle.generateKey(KEYS, true, ["sign", "verify"]);

async function pemOfKey(key: CryptoKey): Promise<string> {
  const bytes = Buffer.from(await crypto.subtle.exportKey("pkcs8", key)).toString("base64");
  return `-----BEGIN PRIVATE KEY-----\n${bytes.replace(/(.{64})/g, "$1\n").trimEnd()}\n-----END PRIVATE KEY-----\n`;
}

function serialNumber(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  // Positive and of full length: the first bit is 0, the second 1.
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return Buffer.from(bytes).toString("hex");
}

const lifetime = (now: number, ms: number) => ({ notBefore: new Date(now - DAY_MS), notAfter: new Date(now + ms) });

/** A new authority that may sign certificates of servers, and nothing below it. */
export async function newAuthority(name: string, now: number): Promise<Identity> {
  const x509 = await library();
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [name] }],
    ...lifetime(now, LIFETIME.authority),
    keys,
    signingAlgorithm: SIGNATURE,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: `${certificate.toString("pem")}\n`, key: await pemOfKey(keys.privateKey) };
}

/** What signs: the authority's certificate and key. */
export interface Signer {
  readonly certificate: X509Certificate;
  readonly key: CryptoKey;
}

export async function signerOf({ cert, key }: Identity): Promise<Signer> {
  const x509 = await library();
  const bytes = Buffer.from(key.replace(/-----[^-]+-----/g, ""), "base64");
  return { certificate: new x509.X509Certificate(cert), key: await crypto.subtle.importKey("pkcs8", bytes, KEYS, false, ["sign"]) };
}

/** A certificate for one name of a server, with the authority's behind it. */
export async function newLeaf(signer: Signer, keys: CryptoKeyPair, host: string, now: number): Promise<Identity> {
  const x509 = await library();
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    // A common name has 64 characters at most; the alternative name is what clients compare.
    subject: [{ CN: [host.slice(0, 64)] }],
    issuer: signer.certificate.subjectName,
    ...lifetime(now, LIFETIME.leaf),
    publicKey: keys.publicKey,
    signingKey: signer.key,
    signingAlgorithm: SIGNATURE,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([{ type: "dns", value: host }]),
      await x509.AuthorityKeyIdentifierExtension.create(signer.certificate.publicKey),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: `${certificate.toString("pem")}\n`, key: await pemOfKey(keys.privateKey) };
}
