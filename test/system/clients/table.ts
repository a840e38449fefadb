import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder } from '../../support/executable.ts'
import { program as installed, type Requirement } from '../../support/requires.ts'
import type { Refusal } from './task.ts'

/** How a library presents an error answer. */
interface Presentation {
  /** The class of the thrown error, or of the response if the library throws none. */
  kind: string
  /** The parts of the answer that the library does not show. */
  hides?: Exclude<keyof Refusal, 'kind'>[]
}

/** A client library, and the program in this folder that uses the library as its documentation says. */
export interface Client {
  name: string
  /** The version in package.json, for a library of npm. Other libraries are installed on the machine. */
  version?: string
  /** Requirements that npm does not install. */
  needs: Requirement[]
  /** The command that runs the program. */
  command(): string[] | Promise<string[]>
  /** The styles in which the library can send credentials. */
  styles: string[]
  secret: Presentation
  grant: Presentation
  token: Presentation
}

const BASIC = 'client_secret_basic'
const POST = 'client_secret_post'
const JSON_BODY = 'JSON'
const BASIC_AND_JSON = 'client_secret_basic and JSON'

/** The folder in which Debian installs the sources of Go libraries. */
const GO_PATH = '/usr/share/gocode'
const GO_OAUTH = 'golang.org/x/oauth2'

const program = (file: string) => join(import.meta.dir, file)
// `-B` below keeps Python from writing byte code beside the programs. The system's interpreter comes first, because
// only that one finds Debian's Python packages.
const python = has('/usr/bin/python3') ?? Bun.which('python3') ?? 'python3'
const ruby = has('/usr/bin/ruby') ?? Bun.which('ruby') ?? 'ruby'

/** The client libraries that docs/integrate/reference.md names. */
export const CLIENTS: Client[] = [
  {
    ...npm('oauth4webapi'),
    styles: [BASIC, POST],
    ...shown('WWWAuthenticateChallengeError', 'ResponseBodyError', 'WWWAuthenticateChallengeError'),
  },
  {
    ...npm('openid-client'),
    styles: [BASIC, POST],
    ...shown('WWWAuthenticateChallengeError', 'ResponseBodyError', 'WWWAuthenticateChallengeError'),
  },
  {
    ...npm('simple-oauth2'),
    styles: [BASIC, BASIC_AND_JSON, POST, JSON_BODY],
    ...shown('Boom', 'Boom', 'Response'),
  },
  {
    name: "Go's x/oauth2",
    needs: [
      installed('go', 'golang-go'),
      {
        ...library("Go's x/oauth2", 'golang-golang-x-oauth2-dev'),
        isHere: existsSync(`${GO_PATH}/src/${GO_OAUTH}`),
      },
    ],
    command: () => {
      goProgram ??= buildGo()
      return goProgram
    },
    styles: [BASIC, POST, 'auto-detection'],
    ...shown('RetrieveError', 'RetrieveError', 'Response'),
  },
  {
    name: "Python's requests-oauthlib",
    needs: [
      library("Python's requests-oauthlib", 'python3-requests-oauthlib', [
        python,
        '-c',
        'import requests_oauthlib',
      ]),
    ],
    command: () => [python, '-B', program('with_requests_oauthlib.py')],
    styles: [BASIC, POST],
    secret: { kind: 'InvalidClientError', hides: ['challenge'] },
    grant: { kind: 'UnsupportedGrantTypeError' },
    token: { kind: 'Response' },
  },
  {
    name: "Python's Authlib",
    needs: [library("Python's Authlib", 'python3-authlib', [python, '-c', 'import requests, authlib'])],
    command: () => [python, '-B', program('with_authlib.py')],
    styles: [BASIC, POST],
    secret: { kind: 'OAuthError', hides: ['status', 'challenge'] },
    grant: { kind: 'OAuthError', hides: ['status'] },
    token: { kind: 'Response' },
  },
  {
    name: "Ruby's oauth2",
    needs: [library("Ruby's oauth2", 'ruby-oauth2', [ruby, '-e', 'gem "oauth2"'])],
    command: () => [ruby, program('oauth2.rb')],
    styles: [BASIC, POST],
    ...shown('OAuth2::Error', 'OAuth2::Error', 'OAuth2::Error'),
  },
  {
    name: 'curl',
    needs: [installed('curl')],
    command: () => ['sh', program('curl.sh')],
    styles: [BASIC, BASIC_AND_JSON, POST, JSON_BODY],
    ...shown('HTTP', 'HTTP', 'HTTP'),
  },
]

/** The presentations of a wrong secret, a wrong grant and an expired token by a library that hides nothing. */
function shown(secret: string, grant: string, token: string) {
  return { secret: { kind: secret }, grant: { kind: grant }, token: { kind: token } }
}

/** A library of another language in a Debian package. `probe` is a command that succeeds only with the library. */
function library(name: string, debianPackage: string, probe: string[] = []): Requirement {
  const isHere = Bun.which(probe[0] ?? '') !== null && Bun.spawnSync(probe, { stderr: 'ignore' }).success
  return { name, debianPackage, isHere }
}

function npm(name: string): Pick<Client, 'name' | 'version' | 'needs' | 'command'> {
  const { version } = JSON.parse(
    readFileSync(join(import.meta.dir, '..', '..', '..', 'node_modules', name, 'package.json'), 'utf8'),
  ) as { version: string }
  return {
    name,
    version,
    needs: [],
    command: () => [process.execPath, '--no-env-file', program(`${name}.ts`)],
  }
}

let goProgram: Promise<string[]> | undefined

/** Builds the Go program with the installed sources of the library, so that Go downloads nothing. */
async function buildGo(): Promise<string[]> {
  const outfile = join(emptyFolder(), 'oauth2')
  const run = Bun.spawn(['go', 'build', '-o', outfile, program('oauth2.go')], {
    env: {
      PATH: process.env.PATH ?? '',
      GO111MODULE: 'off',
      GOPATH: GO_PATH,
      GOTOOLCHAIN: 'local',
      GOCACHE: join(import.meta.dir, '..', '..', '..', 'node_modules', '.cache', 'go-build'),
    },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const stderr = await new Response(run.stderr).text()
  if ((await run.exited) !== 0) throw new Error(`the Go program cannot be built: ${stderr}`)
  return [outfile]
}

function has(path: string): string | undefined {
  return existsSync(path) ? path : undefined
}
