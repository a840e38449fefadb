import { Failure } from '../errors.ts'

export const NOT_A_URL =
  'DATABASE_URL (or what DATABASE_URL_FILE holds) must be postgres://user:password@host:port/name, with "%" as %25, "/" as %2F and "@" as %40 in user and password'

/** Parameters of libpq that change nothing in axport. */
const IGNORED =
  /^(client_encoding|connect_timeout|fallback_application_name|gssdelegation|keepalives(_idle|_interval|_count)?|sslcompression|sslkeylogfile|sslsni|tcp_user_timeout|(min|max)_protocol_version)$/

/** Values that ask for nothing. */
const IS_OFF: Record<string, RegExp> = {
  channel_binding: /^(disable|prefer)$/,
  gssencmode: /^(disable|prefer)$/,
  load_balance_hosts: /^disable$/,
  sslcertmode: /^(disable|allow)$/,
}

/** Parameters of libpq that axport does not support, and what to do instead. */
const UNSUPPORTED: [RegExp, string][] = [
  [
    /^(channel_binding|gssencmode|gsslib|krbsrvname|load_balance_hosts|oauth_\w+|replication|require(_auth|peer))$/,
    'remove it',
  ],
  [/^(scram_(client|server)_key|ssl_(max|min)_protocol_version|sslcertmode|sslcrl(dir)?)$/, 'remove it'],
  [/^requiressl$/, 'write sslmode=require'],
  [/^ssl(cert|key|password)$/, 'give the role a password: client certificates are not supported'],
  [/^passfile$/, 'write the password into the URL, or the URL into the file that DATABASE_URL_FILE names'],
  [/^(hostaddr|service(file)?)$/, 'write out postgres://user:password@host:port/name'],
]

/** The parts and parameters of a URL by their names in libpq. The last of several counts, and an empty one is none. */
export class Parameters {
  readonly #values = new Map<string, Buffer>()

  constructor(
    parts: Record<string, string>,
    private readonly query: string,
  ) {
    for (const [name, text] of Object.entries(parts)) this.#values.set(name, decoded(text))
    for (const parameter of query.split('&').filter(text => text !== '')) {
      const [name = '', ...value] = parameter.split('=')
      this.#note(decoded(name).toString(), decoded(value.join('=')))
    }
  }

  #note(name: string, value: Buffer): void {
    // As in libpq, for URLs of JDBC.
    const isJdbc = name === 'ssl' && value.toString() === 'true'
    this.#values.set(isJdbc ? 'sslmode' : name, isJdbc ? Buffer.from('require') : value)
  }

  /** The bytes of a value, which is then removed. */
  takeBytes(name: string): Buffer | undefined {
    const value = this.#values.get(name)
    this.#values.delete(name)
    return value?.length === 0 ? undefined : value
  }

  take(name: string): string | undefined {
    return this.takeBytes(name)?.toString()
  }

  /** @throws Failure for a parameter that was not taken, and asks for something */
  refuseOthers(): void {
    for (const [name, value] of this.#values) {
      if (IGNORED.test(name) || IS_OFF[name]?.test(value.toString())) continue
      // A password whose "/" and "@" are not escaped may have come here.
      if (this.query.includes('@')) throw new Failure(NOT_A_URL)
      const advice = UNSUPPORTED.find(([names]) => names.test(name))?.[1]
      throw new Failure(
        advice
          ? `DATABASE_URL has ${name}, which axport does not support: ${advice}`
          : `DATABASE_URL has ${name}, which is no parameter of libpq: remove it, or set a parameter of the server by options=-c%20NAME%3DVALUE`,
      )
    }
  }
}

/** The bytes of a text with escapes, which need not be UTF-8: the password of another encoding is not. */
function decoded(text: string): Buffer {
  if (/%(?![\da-f]{2})/i.test(text))
    throw new Failure(
      'DATABASE_URL has a % that begins no escape: write a % in a user name or password as %25',
    )
  if (text.includes('%00'))
    throw new Failure('DATABASE_URL has %00, which Postgres does not allow: remove it')
  const bytes = text.replaceAll(/%([\da-f]{2})|([^%]+)/gi, (_, code, plain) =>
    code === undefined
      ? Buffer.from(plain).toString('latin1')
      : String.fromCharCode(Number.parseInt(code, 16)),
  )
  return Buffer.from(bytes, 'latin1')
}
