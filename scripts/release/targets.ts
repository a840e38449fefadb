/** A system and machine that a release has an executable for. */
export interface Target {
  /** The name in the names of the release's files: `linux-x64-musl`. */
  name: string
  /** Bun's name of the runtime. */
  bun: Bun.Build.CompileTarget
  /** The header that the executable must have. */
  header: Header
  /** The machine of an image, in the words of OCI; undefined where none is made. */
  image?: 'amd64' | 'arm64'
}

/** The machine and the loader in the header of an executable. */
export interface Header {
  format: 'ELF' | 'Mach-O'
  machine: 'x64' | 'arm64'
  /** The path of the loader, which differs between glibc and musl. */
  interpreter: string
}

const DYLD = '/usr/lib/dyld'

/** All targets of a release. */
export const TARGETS: readonly Target[] = [
  target('linux-x64', { format: 'ELF', machine: 'x64', interpreter: '/lib64/ld-linux-x86-64.so.2' }, 'amd64'),
  target(
    'linux-arm64',
    { format: 'ELF', machine: 'arm64', interpreter: '/lib/ld-linux-aarch64.so.1' },
    'arm64',
  ),
  target('linux-x64-musl', { format: 'ELF', machine: 'x64', interpreter: '/lib/ld-musl-x86_64.so.1' }),
  target('linux-arm64-musl', { format: 'ELF', machine: 'arm64', interpreter: '/lib/ld-musl-aarch64.so.1' }),
  target('darwin-x64', { format: 'Mach-O', machine: 'x64', interpreter: DYLD }),
  target('darwin-arm64', { format: 'Mach-O', machine: 'arm64', interpreter: DYLD }),
]

function target(name: string, header: Header, image?: Target['image']): Target {
  return { name, bun: `bun-${name}` as Bun.Build.CompileTarget, header, ...(image && { image }) }
}

/**
 * The targets with these names, in the given order; all targets if no name is given.
 * @throws Error for an unknown name, which lists the existing names
 */
export function targetsNamed(names: string[]): readonly Target[] {
  if (names.length === 0) return TARGETS
  return names.map(name => {
    const found = TARGETS.find(each => each.name === name)
    if (found) return found
    throw new Error(`there is no target ${name}: choose from ${TARGETS.map(each => each.name).join(', ')}`)
  })
}
