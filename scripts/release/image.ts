import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Target } from './targets.ts'

const root = join(import.meta.dir, '..', '..')

type Machine = Target['image']

/** The libraries of glibc that Bun's executables name, and the loader that starts them. */
const LIBRARIES = ['libc.so.6', 'libpthread.so.0', 'libdl.so.2', 'libm.so.6']
const LOADERS = { amd64: '/lib64/ld-linux-x86-64.so.2', arm64: '/lib/ld-linux-aarch64.so.1' }

/** Where Debian has them: on a machine of that kind, and on another one. */
const PLACES = {
  amd64: { folders: ['/lib/x86_64-linux-gnu', '/usr/x86_64-linux-gnu/lib'], package: 'libc6-amd64-cross' },
  arm64: { folders: ['/lib/aarch64-linux-gnu', '/usr/aarch64-linux-gnu/lib'], package: 'libc6-arm64-cross' },
}

/**
 * Makes the image of an executable with buildah, from the Containerfile: an archive in the format of OCI.
 * @param into the folder of the archive, and of temporary files
 * @returns the path of the archive
 * @throws Error if buildah or a library is missing, or with buildah's output
 */
export async function makeImage(
  executable: string,
  machine: Machine,
  version: string,
  into: string,
): Promise<string> {
  if (!Bun.which('buildah'))
    throw new Error("images need buildah (Debian's package buildah): install it, or give --no-images")
  const context = join(into, `image-${machine}`)
  stage(executable, machine, context)
  const name = `localhost/axport:${version}`
  const archive = join(into, `axport-${version}-${machine}.oci.tar`)
  const storage = ['--storage-driver', 'vfs', '--root', `${context}/storage`, '--runroot', `${context}/run`]
  const file = join(root, 'Containerfile')
  const options = ['--isolation', 'chroot', '--format', 'oci', '--timestamp', '0', '--os', 'linux']
  await buildah(...storage, 'build', ...options, '--arch', machine, '-f', file, '-t', name, context)
  await buildah(...storage, 'push', name, `oci-archive:${archive}:${name}`)
  rmSync(context, { recursive: true })
  return archive
}

/** Puts the files of the image into a folder: `files` for the root of the image, `data` for /data. */
function stage(executable: string, machine: Machine, context: string): void {
  const put = (from: string, path: string) => {
    const to = join(context, 'files', path)
    mkdirSync(dirname(to), { recursive: true })
    copyFileSync(from, to)
    chmodSync(to, 0o755)
  }
  put(executable, '/usr/local/bin/axport')
  for (const library of LIBRARIES) put(find(library, machine), `/lib/${library}`)
  put(find(basename(LOADERS[machine]), machine), LOADERS[machine])
  for (const [folder, mode] of [
    ['files/tmp', 0o1777],
    ['data', 0o700],
  ] as const) {
    mkdirSync(join(context, folder))
    chmodSync(join(context, folder), mode)
  }
}

function find(library: string, machine: Machine): string {
  const { folders, package: name } = PLACES[machine]
  const found = folders.map(folder => join(folder, library)).find(existsSync)
  if (found) return found
  throw new Error(
    `the image for ${machine} needs ${library} (Debian's package ${name}): install it, or give --no-images`,
  )
}

async function buildah(...args: string[]): Promise<void> {
  const run = Bun.spawn(['buildah', ...args], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [, words] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()])
  if ((await run.exited) !== 0) throw new Error(`buildah failed: ${words.trim()}`)
}
