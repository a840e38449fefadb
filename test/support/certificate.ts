import { generateKeyPairSync, type KeyObject, randomInt, sign } from 'node:crypto'

/** A self-signed certificate for localhost and an IPv4 address, and its key; both in PEM. */
export function selfSigned(
  name: string,
  address = '127.0.0.1',
  kind: 'ec' | 'rsa' = 'ec',
  ends = new Date('2049-12-31T00:00:00Z'),
): { cert: string; key: string } {
  const { privateKey, publicKey } =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 })
  const signedBy = SIGNED_BY[kind]
  const subject = sequence(set(sequence(object('2.5.4.3'), der(0x0c, Buffer.from(name)))))
  const names = sequence(
    der(0x82, Buffer.from('localhost')),
    der(0x87, Buffer.from(address.split('.').map(Number))),
  )
  const isAuthority = sequence(object('2.5.29.19'), der(0x04, sequence(der(0x01, Buffer.of(0xff)))))
  const body = sequence(
    der(0xa0, integer(2)),
    integer(randomInt(1, 2 ** 30)),
    signedBy,
    subject,
    sequence(der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from(utcTime(ends)))),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(isAuthority, sequence(object('2.5.29.17'), der(0x04, names)))),
  )
  return { cert: pem('CERTIFICATE', signed(body, signedBy, privateKey)), key: pemOf(privateKey) }
}

/** Of the years up to 2049. */
const utcTime = (time: Date) => `${time.toISOString().replaceAll(/\D/g, '').slice(2, 14)}Z`

const der = (tag: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  const size = body.length
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.of(tag, ...length), body])
}

const sequence = (...parts: Buffer[]) => der(0x30, ...parts)
const set = (...parts: Buffer[]) => der(0x31, ...parts)
const integer = (value: number) => {
  const hex = value.toString(16)
  const bytes = Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex')
  // A first bit of 1 would make the number negative.
  return (bytes[0] ?? 0) < 0x80 ? der(0x02, bytes) : der(0x02, Buffer.of(0), bytes)
}

function object(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = rest.flatMap(part => {
    const digits = [part & 0x7f]
    for (let more = part >> 7; more > 0; more >>= 7) digits.unshift((more & 0x7f) | 0x80)
    return digits
  })
  return der(0x06, Buffer.of(first * 40 + second, ...bytes))
}

/** ecdsa-with-SHA256, and sha256WithRSAEncryption with its null. */
const SIGNED_BY = {
  ec: sequence(object('1.2.840.10045.4.3.2')),
  rsa: sequence(object('1.2.840.113549.1.1.11'), der(0x05)),
}

const signed = (body: Buffer, signedBy: Buffer, key: KeyObject) =>
  sequence(body, signedBy, der(0x03, Buffer.of(0), sign('sha256', body, key)))

const pem = (label: string, bytes: Buffer) =>
  `-----BEGIN ${label}-----\n${bytes
    .toString('base64')
    .match(/.{1,64}/g)
    ?.join('\n')}\n-----END ${label}-----\n`

const pemOf = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }) as string
