import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder } from '../support/executable.ts'
import type { Refusal } from './task.ts'

/** How a library presents an answer that is no success. */
interface Presentation {
  /** The class of its error, or of the response where it throws none. */
  kind: string
  /** What of the answer it does not show. */
  hides?: Exclude<keyof Refusal, 'kind'>[]
}

/** A client library, and the program here that uses it as its documentation says. */
export interface Client {
  name: string
  /** Undefined when it is not on this machine. */
  version: string | undefined
  /** Its version is the one of package.json, not the machine's. */
  isOfNpm?: boolean
  /** How its program is started. */
  command(): string[] | Promise<string[]>
  /** In which it can send the credentials. */
  styles: string[]
  secret: Presentation
  grant: Presentation
  token: Presentation
}

const BASIC = 'client_secret_basic'
const POST = 'client_secret_post'
const JSON_BODY = 'JSON'
const BASIC_AND_JSON = 'client_secret_basic and JSON'

/** Where Debian keeps the sources of Go's libraries. */
const GO_PATH = '/usr/share/gocode'

const program = (file: string) => join(import.meta.dir, file)
// That of the system first: that is where packages of the system's manager are.
const python = has('/usr/bin/python3') ?? Bun.which('python3') ?? 'python3'
const ruby = has('/usr/bin/ruby') ?? Bun.which('ruby') ?? 'ruby'

/** The libraries of protocol.md that this machine can have. */
export const CLIENTS: Client[] = [
  {
    ...npm('oauth4webapi'),
    styles: [BASIC, POST],
    secret: { kind: 'WWWAuthenticateChallengeError' },
    grant: { kind: 'ResponseBodyError' },
    token: { kind: 'WWWAuthenticateChallengeError' },
  },
  {
    ...npm('openid-client'),
    styles: [BASIC, POST],
    secret: { kind: 'WWWAuthenticateChallengeError' },
    grant: { kind: 'ResponseBodyError' },
    token: { kind: 'WWWAuthenticateChallengeError' },
  },
  {
    ...npm('simple-oauth2'),
    styles: [BASIC, BASIC_AND_JSON, POST, JSON_BODY],
    secret: { kind: 'Boom' },
    grant: { kind: 'Boom' },
    token: { kind: 'Response' },
  },
  {
    name: "Go's x/oauth2",
    version: Bun.which('go') ? debianVersion('golang-golang-x-oauth2-dev') : undefined,
    command: once(buildGo),
    styles: [BASIC, POST, 'auto-detection'],
    secret: { kind: 'RetrieveError' },
    grant: { kind: 'RetrieveError' },
    token: { kind: 'Response' },
  },
  {
    name: "Python's requests-oauthlib",
    version: versionOf([python, '-c', 'import requests_oauthlib as r; print(r.__version__)']),
    command: () => [python, program('with_requests_oauthlib.py')],
    styles: [BASIC, POST],
    secret: { kind: 'InvalidClientError', hides: ['challenge'] },
    grant: { kind: 'UnsupportedGrantTypeError' },
    token: { kind: 'Response' },
  },
  {
    name: "Python's Authlib",
    version: versionOf([python, '-c', 'import requests, authlib; print(authlib.__version__)']),
    command: () => [python, program('with_authlib.py')],
    styles: [BASIC, POST],
    secret: { kind: 'OAuthError', hides: ['status', 'challenge'] },
    grant: { kind: 'OAuthError', hides: ['status'] },
    token: { kind: 'Response' },
  },
  {
    name: "Ruby's oauth2",
    version: versionOf([ruby, '-e', 'gem "oauth2"; print Gem.loaded_specs["oauth2"].version']),
    command: () => [ruby, program('oauth2.rb')],
    styles: [BASIC, POST],
    secret: { kind: 'OAuth2::Error' },
    grant: { kind: 'OAuth2::Error' },
    token: { kind: 'OAuth2::Error' },
  },
  {
    name: 'curl',
    version: versionOf(['curl', '--version'])?.split(' ')[1],
    command: () => ['sh', program('curl.sh')],
    styles: [BASIC, BASIC_AND_JSON, POST, JSON_BODY],
    secret: { kind: 'HTTP' },
    grant: { kind: 'HTTP' },
    token: { kind: 'HTTP' },
  },
]

function npm(name: string): Pick<Client, 'name' | 'version' | 'isOfNpm' | 'command'> {
  const { version } = JSON.parse(
    readFileSync(join(import.meta.dir, '..', '..', 'node_modules', name, 'package.json'), 'utf8'),
  ) as { version: string }
  return {
    name,
    version,
    isOfNpm: true,
    command: () => [process.execPath, '--no-env-file', program(`${name}.ts`)],
  }
}

/** With the library's sources as the system has them, so nothing is downloaded. */
async function buildGo(): Promise<string[]> {
  const outfile = join(emptyFolder(), 'oauth2')
  const run = Bun.spawn(['go', 'build', '-o', outfile, program('oauth2.go')], {
    env: {
      PATH: process.env.PATH ?? '',
      GO111MODULE: 'off',
      GOPATH: GO_PATH,
      GOTOOLCHAIN: 'local',
      GOCACHE: join(import.meta.dir, '..', '..', 'node_modules', '.cache', 'go-build'),
    },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const complaint = await new Response(run.stderr).text()
  if ((await run.exited) !== 0) throw new Error(`the Go program can not be built: ${complaint}`)
  return [outfile]
}

/** What a command prints about the version, where there is such a command and it succeeds. */
function versionOf(command: string[]): string | undefined {
  if (!Bun.which(command[0] as string)) return undefined
  const { exitCode, stdout } = Bun.spawnSync(command, { stdout: 'pipe', stderr: 'ignore' })
  return exitCode === 0 ? stdout.toString().trim() : undefined
}

/** Of an installed package. What is known but not installed is listed without a version. */
function debianVersion(name: string): string | undefined {
  return versionOf(['dpkg-query', '--show', name])?.split('\t')[1] || undefined
}

function has(path: string): string | undefined {
  return existsSync(path) ? path : undefined
}

function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined
  return () => {
    result ??= work()
    return result
  }
}
