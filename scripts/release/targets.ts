/** A kind of machine that a release is made for. */
export interface Target {
  /** As the names of the release's files have it: `linux-x64-musl`. */
  name: string
  /** As Bun names the runtime for it. */
  bun: Bun.Build.CompileTarget
  /** What the header of its executable has to say. */
  header: Header
}

/** What the first bytes of an executable say of the machine that it is for. */
export interface Header {
  format: 'ELF' | 'Mach-O'
  machine: 'x64' | 'arm64'
  /** The path of the loader that it asks for: it tells glibc from musl. */
  interpreter: string
}

const DYLD = '/usr/lib/dyld'

/** All targets of a release. */
export const TARGETS: readonly Target[] = [
  target('linux-x64', { format: 'ELF', machine: 'x64', interpreter: '/lib64/ld-linux-x86-64.so.2' }),
  target('linux-arm64', { format: 'ELF', machine: 'arm64', interpreter: '/lib/ld-linux-aarch64.so.1' }),
  target('linux-x64-musl', { format: 'ELF', machine: 'x64', interpreter: '/lib/ld-musl-x86_64.so.1' }),
  target('linux-arm64-musl', { format: 'ELF', machine: 'arm64', interpreter: '/lib/ld-musl-aarch64.so.1' }),
  target('darwin-x64', { format: 'Mach-O', machine: 'x64', interpreter: DYLD }),
  target('darwin-arm64', { format: 'Mach-O', machine: 'arm64', interpreter: DYLD }),
]

function target(name: string, header: Header): Target {
  return { name, bun: `bun-${name}` as Bun.Build.CompileTarget, header }
}

/**
 * The targets of these names, in their order; all of them where none is named.
 * @throws Error that names those that there are, for a name that there is not
 */
export function targetsNamed(names: string[]): readonly Target[] {
  if (names.length === 0) return TARGETS
  return names.map(name => {
    const found = TARGETS.find(each => each.name === name)
    if (found) return found
    throw new Error(`there is no target ${name}: choose from ${TARGETS.map(each => each.name).join(', ')}`)
  })
}
