import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { arch } from 'node:os'
import { join } from 'node:path'
import { makeImage } from '../../scripts/release/image.ts'
import { cleanUp, emptyFolder, ended, executable, launch, type Running } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { get, LIST, type ListBody, successful } from '../support/http.ts'
import { program, requires } from '../support/requires.ts'
import { useServedWorld } from '../support/served.ts'

setDefaultTimeout(300_000)

const BUILDAH = program('buildah')
const ROOT_USER = { name: 'root', isHere: process.getuid?.() === 0 }

requires(BUILDAH, ROOT_USER).describe('the image', () => {
  const world = useServedWorld()
  const folder = emptyFolder()
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: folder }
  const storage = [
    '--storage-driver',
    'vfs',
    '--root',
    join(folder, 'storage'),
    '--runroot',
    join(folder, 'run'),
  ]
  let container: string

  const buildah = (...args: string[]): Running => launch(['buildah', ...storage, ...args], { env })
  /** Runs a command in the container, in the network of this machine. */
  const inside = (settings: Record<string, string>, ...command: string[]) => {
    const variables = Object.entries(settings).flatMap(([name, value]) => ['-e', `${name}=${value}`])
    return buildah('run', '--isolation', 'chroot', ...variables, container, '--', ...command)
  }
  const axport = (settings: Record<string, string>, ...args: string[]) =>
    ended(inside(settings, '/usr/local/bin/axport', ...args), {})

  beforeAll(async () => {
    const machine = arch() === 'x64' ? 'amd64' : 'arm64'
    const archive = await makeImage(await executable(), machine, '9.9.9', folder)
    const { code, stdout, stderr } = await ended(buildah('from', `oci-archive:${archive}`), {})
    if (code !== 0) throw new Error(stderr)
    container = stdout.trim()
  })
  afterAll(async () => {
    await ended(buildah('rm', container), {})
    await cleanUp()
    rmSync(folder, { recursive: true, force: true })
  })

  test('has the executable, its libraries, /data and /tmp, and no other file', async () => {
    const { stdout } = await ended(buildah('mount', container), {})
    const files = [...new Bun.Glob('**/*').scanSync({ cwd: stdout.trim(), dot: true })].sort()
    expect(files.filter(name => !/^(lib|lib64)\/(lib(c|m|dl|pthread)|ld-linux)[\w.-]*$/.test(name))).toEqual([
      'usr/local/bin/axport',
    ])
    await ended(buildah('umount', container), {})
  })

  test('has no shell, a user without rights, and the settings of a container', async () => {
    expect((await ended(inside({}, '/bin/sh', '-c', 'true'), {})).code).not.toBe(0)
    const { stdout } = await ended(buildah('inspect', '--type', 'container', container), {})
    const { config } = JSON.parse(stdout).OCIv1
    expect(config).toMatchObject({
      User: '65532:65532',
      Entrypoint: ['/usr/local/bin/axport'],
      Cmd: ['serve'],
      WorkingDir: '/data',
    })
    for (const setting of ['HOST=0.0.0.0', 'ADMIN_HOST=0.0.0.0', 'ADMIN_PORT=3001'])
      expect(config.Env).toContain(setting)
  })

  test('serves a page of a Postgres that is named by its host, and axport health says that it is ready', async () => {
    const [PORT, ADMIN_PORT] = [String(await freePort()), String(await freePort())]
    const DATABASE_URL = (world.env.DATABASE_URL as string).replace('127.0.0.1', 'localhost')
    const serving = inside({ DATABASE_URL, PORT, ADMIN_PORT }, '/usr/local/bin/axport', 'serve')
    expect(await axport({ ADMIN_PORT }, 'health', '--wait', '60s')).toMatchObject({
      code: 0,
      stdout: 'ready\n',
    })
    const answer = await get(`http://127.0.0.1:${PORT}`, world.token, LIST)
    expect((successful(answer) as ListBody).data.map(({ id }) => id)).toEqual([9001, 9002])
    serving.signal('SIGTERM')
    await serving.finished
  })
})
