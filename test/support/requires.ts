import * as bun from 'bun:test'

/** A thing that npm does not bring: a program, a library of another language, a right. */
export interface Requirement {
  /** As a reader of the report knows it: `zsh`, `Python's Authlib`, `the right to mount`. */
  name: string
  /** The Debian package that brings it; none for a right, which no package brings. */
  debianPackage?: string
  isHere: boolean
}

type Declare = (name: string, body: () => void | Promise<void>, timeout?: number) => void

/** `test` and `describe` for what needs requirements. */
export interface Requiring {
  /** Whether every requirement is here, so that the bodies run. */
  isHere: boolean
  test: Declare
  describe: (name: string, body: () => void) => void
}

/** A program on PATH, by default brought by the Debian package of the same name. */
export function program(name: string, debianPackage = name): Requirement {
  return { name, debianPackage, isHere: Bun.which(name) !== null }
}

/**
 * `test` and `describe` that run where every requirement is here. Elsewhere their names end in the reason
 * (`skipped: needs zsh, Debian package zsh`), from which `check` counts what was skipped. With TEST_REQUIRE_ALL=1,
 * which .ci/run sets where packages can be installed, a missing one that has a package is a failure instead.
 */
export function requires(...requirements: Requirement[]): Requiring {
  const missing = requirements.filter(requirement => !requirement.isHere)
  if (missing.length === 0) return { isHere: true, test: bun.test, describe: bun.describe }
  const installable = missing.filter(requirement => requirement.debianPackage)
  if (process.env.TEST_REQUIRE_ALL === '1' && installable.length > 0) return failing(installable)
  const reason = missing.map(({ name, debianPackage }) =>
    debianPackage ? `${name}, Debian package ${debianPackage}` : name,
  )
  const withReason = (name: string) => `${name} (skipped: needs ${reason.join('; ')})`
  return {
    isHere: false,
    test: (name, body, timeout) => bun.test.skip(withReason(name), body, timeout),
    describe: (name, body) => bun.describe.skip(withReason(name), body),
  }
}

function failing(missing: Requirement[]): Requiring {
  const names = missing.map(({ name }) => name).join(', ')
  const packages = missing.map(({ debianPackage }) => debianPackage).join(' ')
  const fail = () => {
    throw new Error(`not on this machine: ${names}. Install with: apt-get install ${packages}`)
  }
  return {
    isHere: false,
    test: name => bun.test(name, fail),
    describe: name => bun.describe(name, () => bun.test(`has ${names}`, fail)),
  }
}
