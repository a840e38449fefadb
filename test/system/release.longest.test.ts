import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { version } from '../../package.json'
import { cleanUp, emptyFolder, ended, launch } from '../support/executable.ts'

setDefaultTimeout(300_000)
afterAll(cleanUp)

const root = join(import.meta.dir, '..', '..')
const target = `${platform()}-${arch()}`
const release = `axport-${version}`
const environment = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: process.env.HOME ?? '/' }
const out = emptyFolder()
/** The image of this machine, where buildah can make it. */
const images =
  Bun.which('buildah') && platform() === 'linux'
    ? [`${release}-${arch() === 'x64' ? 'amd64' : 'arm64'}.oci.tar`]
    : []

const run = (command: string[], cwd = emptyFolder(), env: Record<string, string> = environment) =>
  ended(launch(command, { cwd, env }), { timeoutMs: 240_000 })

const makeRelease = (...options: string[]) =>
  run([process.execPath, join(root, 'scripts', 'release.ts'), '--out', out, ...options])

/** The parts of a bill of materials that the test reads. */
interface Bill {
  metadata: { component: object }
  components: { name: string; group?: string }[]
}

let made: Awaited<ReturnType<typeof run>>
beforeAll(async () => {
  made = await makeRelease('--target', target, '--level', '1', ...(images.length > 0 ? [] : ['--no-images']))
})

test('a release for this machine has all of its files, and its executable was run', () => {
  expect(made).toMatchObject({ code: 0, stderr: '' })
  expect(made.stdout).toStartWith(`${target}: ran\n`)
  expect(readdirSync(out).sort()).toEqual([
    'SHA256SUMS',
    ...images,
    `${release}-${target}.zst`,
    `${release}.cdx.json`,
    `${release}.tar.zst`,
  ])
})

test('sha256sum verifies every file of the release', async () => {
  const { code, stdout } = await run(['sha256sum', '--check', '--strict', 'SHA256SUMS'], out)
  expect([code, stdout.match(/: OK\n/g)?.length]).toEqual([0, 3 + images.length])
})

test('the executable runs from an empty folder', async () => {
  const folder = emptyFolder()
  const unpacked = await Bun.zstdDecompress(await Bun.file(join(out, `${release}-${target}.zst`)).bytes())
  const executable = join(folder, 'axport')
  writeFileSync(executable, unpacked, { mode: 0o755 })
  const { code, stdout } = await run([executable, 'version', '--json'], emptyFolder(), {})
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { version, bun: Bun.version }])
})

test('the bill of materials follows the schema of CycloneDX, and names the packages in the executable', async () => {
  const text = readFileSync(join(out, `${release}.cdx.json`), 'utf8')
  expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)).toBeNull()
  const bill = JSON.parse(text) as Bill
  expect(bill.metadata.component).toMatchObject({ name: 'axport', version })
  const names = bill.components.map(({ group, name }) => (group ? `${group}/${name}` : name))
  const { dependencies } = (await Bun.file(join(root, 'package.json')).json()) as { dependencies: object }
  for (const name of [...Object.keys(dependencies), 'bun']) expect(names).toContain(name)
  expect(names.filter(name => name === 'typescript' || name.includes('node_modules'))).toEqual([])
  expect(text).not.toContain(root)
})

test('the archive has the documents, the systemd units, the configurations and the example queries', async () => {
  const packed = await Bun.file(join(out, `${release}.tar.zst`)).bytes()
  const folder = emptyFolder()
  await Bun.write(join(folder, 'archive.tar'), await Bun.zstdDecompress(packed))
  expect(await run(['tar', '-xf', 'archive.tar'], folder)).toMatchObject({ code: 0 })
  for (const name of [
    'systemd/axport-serve@.service',
    'docs/operate/install.md',
    'alerts.yml',
    'nginx.conf',
    'platform-example/queries/assessment_parts.sql',
  ])
    expect([name, existsSync(join(folder, release, name))]).toEqual([name, true])
})

test('a release for an unknown target fails and changes no file', async () => {
  const before = readdirSync(out)
  const { code, stderr } = await makeRelease('--target', 'windows-x64')
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^release: there is no target windows-x64: choose from .*\n$/),
  ])
  expect(readdirSync(out)).toEqual(before)
})
