/** A machine that a release has an executable for: Linux with glibc. */
export interface Target {
  /** The name in the names of the release's files. */
  name: 'linux-x64' | 'linux-arm64'
  /** The machine in the header of an executable, as in elf(5). */
  code: number
  /** The machine in the words of OCI. */
  image: 'amd64' | 'arm64'
}

/** All targets of a release. */
export const TARGETS: readonly Target[] = [
  { name: 'linux-x64', code: 62, image: 'amd64' },
  { name: 'linux-arm64', code: 183, image: 'arm64' },
]

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

/**
 * Inspects an executable without running it.
 * @throws Error unless it is a 64-bit ELF file for the machine of the target
 */
export function requireMachine(executable: Buffer, { name, code }: Target): void {
  const isElf = executable.toString('hex', 0, 6) === '7f454c460201'
  if (!isElf || executable.readUInt16LE(18) !== code) throw new Error(`Bun made no executable for ${name}`)
}
