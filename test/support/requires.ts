import * as bun from 'bun:test'

/** Something a test needs that npm does not install: a program, a library of another language, a right. */
export interface Requirement {
  /** The name in the report: `haproxy`, `Python's Authlib`, `the right to mount`. */
  name: string
  /** The Debian package that installs it; undefined for a right. */
  debianPackage?: string
  isHere: boolean
}

type Declare = (name: string, body: () => void | Promise<void>, timeout?: number) => void

/** `test` and `describe` for tests with requirements. */
export interface Requiring {
  /** Whether this machine has every requirement, so that the bodies run. */
  isHere: boolean
  test: Declare
  describe: (name: string, body: () => void) => void
}

/** A program on PATH. Its Debian package has the same name by default. */
export function program(name: string, debianPackage = name): Requirement {
  return { name, debianPackage, isHere: Bun.which(name) !== null }
}

/**
 * `test` and `describe` that run if this machine has every requirement. Otherwise the tests are skipped, and their
 * names end in the reason (`skipped: needs nginx, Debian package nginx`), by which `check` counts them. Under
 * TEST_REQUIRE_ALL=1, which .ci/run sets on machines with apt-get, a missing requirement that has a package fails the
 * tests instead.
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
