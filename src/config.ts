import { Failure } from './errors.ts'
import { readTrimmed } from './files.ts'
import { readNetworks } from './networks.ts'
import { filePath, isPath, maskedUrl, oneOf, seconds, wholeNumber } from './setting-values.ts'

/** A setting: a variable of the environment, which only this file reads. */
interface Setting<Value> {
  /** The default, as text. Without a default the value may be undefined. */
  fallback?: string
  /** One line for the person who sets it. */
  meaning: string
  /** The text to show, for a value that has a secret, or may have one by mistake. */
  mask?(text: string): string
  /** Turns the text into the value, if that is no text; throws an Error whose message completes "NAME …". */
  read?(text: string): Value
}

/** A path as it is; any other text may be a URL with its password. */
const maskedPath = (text: string) => (isPath(text) ? text : '***')

/** All settings by name, in the order of the documents. */
export const SETTINGS = {
  DATABASE_URL: {
    meaning: 'The database: postgres://user:password@host:port/name.',
    mask: maskedUrl,
  },
  DATABASE_URL_FILE: {
    meaning: 'A file with the value of DATABASE_URL, for secret stores. Each new connection reads it again.',
    mask: maskedPath,
    read: filePath,
  },
  DATABASE_READ_URL: {
    meaning: 'A standby of the database, from which serve reads pages while it is well.',
    mask: maskedUrl,
  },
  DATABASE_READ_URL_FILE: {
    meaning: 'A file with the value of DATABASE_READ_URL. Each new connection reads it again.',
    mask: maskedPath,
    read: filePath,
  },
  DATABASE_POOL_SIZE: {
    fallback: '10',
    meaning:
      'Connections of each process to Postgres at most; plus, briefly, one that checks silent or blocked ones.',
    read: wholeNumber(1, 1000),
  },
  HOST: {
    fallback: '127.0.0.1',
    meaning: 'The address to listen on; 0.0.0.0 for every address of the machine.',
  },
  PORT: {
    fallback: '3000',
    meaning: 'The port to listen on; 0 for any free one.',
    read: wholeNumber(0, 65535),
  },
  SHARE_PORT: {
    fallback: 'off',
    meaning:
      'Whether several processes of one user may listen on PORT, and share its connections: on or off.',
    read: oneOf('on', 'off'),
  },
  ADMIN_HOST: {
    fallback: '127.0.0.1',
    meaning: 'The address to listen on for operators: /live, /ready and /metrics.',
  },
  ADMIN_PORT: {
    meaning:
      'The port for operators: /live, /ready and /metrics; 0 for any free one. Not set: there is none.',
    read: wholeNumber(0, 65535),
  },
  TRUSTED_PROXIES: {
    meaning: 'Proxies whose X-Forwarded headers are believed: a list as 10.0.0.7, 192.168.0.0/16.',
    read: readNetworks,
  },
  LOG_LEVEL: {
    fallback: 'info',
    meaning: 'The least severe line that is logged: debug, info (a line a request), warn, error or silent.',
    read: oneOf('debug', 'info', 'warn', 'error', 'silent'),
  },
  SHUTDOWN_DELAY: {
    fallback: '0',
    meaning: 'Seconds to go on serving after SIGTERM, while /ready fails and balancers look away.',
    read: wholeNumber(0, 3600),
  },
  STATEMENT_TIMEOUT: {
    fallback: '10',
    meaning: 'Seconds that a statement of a request may take in the database.',
    read: seconds(0.1, 60),
  },
  MAX_REQUESTS: {
    fallback: '500',
    meaning: 'Requests that each process works on at the same time; one integration alone may have half.',
    read: wholeNumber(1, 100_000),
  },
  DOCS: {
    fallback: 'on',
    meaning: 'The page /docs: on or off. /openapi.json is always there.',
    read: oneOf('on', 'off'),
  },
  TLS_CERT_FILE: {
    meaning: 'The certificate, with its chain, for HTTPS on the port; PEM.',
  },
  TLS_KEY_FILE: {
    meaning: 'The private key of TLS_CERT_FILE; PEM, without a passphrase.',
  },
  PLATFORM_URL: {
    meaning: 'The platform that axport import --queries reads: postgres://user:password@host:port/name.',
    mask: maskedUrl,
  },
  AXPORT_CLIENT_SECRET: {
    meaning: 'The secret of the integration that axport pull reads as.',
    mask: () => '***',
  },
} satisfies Record<string, Setting<unknown>>

/**
 * Removes variables of libpq (PGHOST, …), which postgres.js would use: DATABASE_URL alone names the database.
 * @returns those that somebody may have set for axport
 */
export function dropForeignSettings(environment: Environment = Bun.env): string[] {
  const foreign = Object.keys(environment).filter(name => /^PG[A-Z]/.test(name))
  for (const name of foreign) delete environment[name]
  return foreign
    .filter(name => /^PG(HOST|PORT|USER|PASS|DATABASE|SERVICE|SSL|OPTIONS|TARGET)/.test(name))
    .sort()
}

/** The login name of the person at the terminal, also after sudo; undefined where there is none, as in a container. */
export function loginName({ SUDO_USER, LOGNAME }: Environment = Bun.env): string | undefined {
  return SUDO_USER?.trim() || LOGNAME?.trim() || undefined
}

export type SettingName = keyof typeof SETTINGS
type Value<Name extends SettingName> = (typeof SETTINGS)[Name] extends { read(text: string): infer Value }
  ? Value
  : string

/** The folder of the files that systemd hands to a unit; undefined outside of one. */
export const credentialsFolder = (environment: Environment = Bun.env) => environment.CREDENTIALS_DIRECTORY

/** The environment that settings are read from. */
export type Environment = Record<string, string | undefined>

/** The value of a setting; blank is not set. @throws Failure with its name, never with its value: it may be a secret */
export function setting<Name extends SettingName>(
  name: Name,
  environment: Environment = Bun.env,
): Value<Name> | ((typeof SETTINGS)[Name] extends { fallback: string } ? never : undefined) {
  const definition: Setting<unknown> = SETTINGS[name]
  const text = givenFor(name, environment) ?? definition.fallback
  try {
    return (text === undefined || !definition.read ? text : definition.read(text)) as Value<Name>
  } catch (error) {
    throw new Failure(`${name} ${(error as Error).message}`)
  }
}

/** The text that a setting was given; undefined if it is not set. */
function givenFor(name: SettingName, environment: Environment): string | undefined {
  const text = environment[name]?.trim()
  // Kubernetes sets NAME_PORT=tcp://ADDRESS:PORT for each service: ADMIN_PORT for one that is called admin.
  return text && !text.startsWith('tcp://') ? text : undefined
}

/** DATABASE_URL, or what DATABASE_URL_FILE holds. @throws Failure if neither or both are set, or the file is wrong */
export function databaseUrl(environment: Environment = Bun.env): string {
  const url = givenUrl('DATABASE_URL', environment)
  if (url) return url
  throw new Failure('DATABASE_URL is not set: set it to postgres://user:password@host:port/name')
}

/** A URL, or what its file holds; undefined if neither is set. @throws Failure if both are, or the file is wrong */
export function givenUrl(
  name: 'DATABASE_URL' | 'DATABASE_READ_URL',
  environment: Environment = Bun.env,
): string | undefined {
  const url = setting(name, environment)
  const file = setting(`${name}_FILE`, environment)
  if (url && file) throw new Failure(`${name} and ${name}_FILE are both set: unset one of them`)
  if (url || !file) return url
  return readTrimmed(file, `${name}_FILE names ${file}, which`)
}

/** The files that settings, and variables of the runtime, name: no command writes to one of them. */
export const inputFiles = (environment: Environment = Bun.env): string[] =>
  Object.entries(environment).flatMap(([name, path]) =>
    path && (name.endsWith('_FILE') || name === 'NODE_EXTRA_CA_CERTS') ? [path] : [],
  )

/** Every setting with its value. An invalid value is reported, and does not throw. */
export function describeSettings(environment: Environment = Bun.env) {
  return (Object.keys(SETTINGS) as SettingName[]).map(name => {
    const { fallback, meaning, mask, read }: Setting<unknown> = SETTINGS[name]
    const given = givenFor(name, environment)
    const value = given ?? fallback
    let problem: string | undefined
    try {
      if (value !== undefined) read?.(value)
    } catch (error) {
      problem = (error as Error).message
    }
    const source = given !== undefined ? 'environment' : value !== undefined ? 'default' : 'not set'
    const shown = value === undefined ? null : (mask?.(value) ?? value)
    const shared = { name: name as string, value: shown, source, default: fallback ?? null, meaning }
    return { ...shared, ...(problem && { problem }) }
  })
}
