// Makes the files of a release: `bun run release [--target NAME]… [--out DIR] [--level N] [--no-images]`. See CONTRIBUTING.md.
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { version } from '../package.json'
import { bundle, commit } from './bundle.ts'
import { makeImage } from './release/image.ts'
import { archiveOfFiles } from './release/other-files.ts'
import { compress, sha256Sums } from './release/packing.ts'
import { billOfMaterials } from './release/sbom.ts'
import { requireMachine, type Target, targetsNamed } from './release/targets.ts'
import { tryOut } from './release/trial.ts'

const release = `axport-${version}`

/** Makes all files in a temporary folder, and moves them into `out` when all are complete. */
async function make(
  targets: readonly Target[],
  out: string,
  level: number,
  hasImages: boolean,
): Promise<void> {
  mkdirSync(out, { recursive: true })
  const folder = mkdtempSync(join(out, '.release-'))
  const leave = () => {
    rmSync(folder, { recursive: true, force: true })
    process.exit(130)
  }
  process.once('SIGINT', leave).once('SIGTERM', leave)
  try {
    const [archive, sbom, sums] = [`${release}.tar`, `${release}.cdx.json`, 'SHA256SUMS'].map(name =>
      join(folder, name),
    ) as [string, string, string]
    // The archive comes first, because it fails if a file is missing.
    writeFileSync(archive, await archiveOfFiles(release))
    await compress(archive, `${archive}.zst`, level)
    const executables: string[] = []
    const images: string[] = []
    let metafile = ''
    let packing = Promise.resolve()
    for (const target of targets) {
      const executable = join(folder, `${release}-${target.name}`)
      executables.push(`${executable}.zst`)
      const made = await Promise.all([makeExecutable(executable, target), packing])
      metafile = made[0]
      if (hasImages) images.push(await makeImage(executable, target.image, version, folder))
      // Compression at level 19 takes a minute or more, so it runs while the next executable is built.
      packing = pack(executable, level)
    }
    await packing
    writeFileSync(sbom, await billOfMaterials(metafile))
    const files = [...executables, ...images, `${archive}.zst`, sbom]
    writeFileSync(sums, await sha256Sums(files))
    for (const file of [...files, sums]) renameSync(file, join(out, basename(file)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Builds, inspects and tries an executable, and prints the result. Returns the metafile of the bundle. */
async function makeExecutable(executable: string, target: Target): Promise<string> {
  const metafile = await bundle(executable, `bun-${target.name}`)
  requireMachine(readFileSync(executable), target)
  const obstacle = await tryOut(executable, target, { version, commit: commit() })
  console.log(`${target.name}: ${obstacle === undefined ? 'ran' : `inspected, not run (${obstacle})`}`)
  return metafile
}

async function pack(executable: string, level: number): Promise<void> {
  const start = performance.now()
  const sizes = await compress(executable, `${executable}.zst`, level)
  const [plain, packed] = [sizes.plain, sizes.packed].map(size => `${(size / 1e6).toFixed(1)} MB`)
  const seconds = ((performance.now() - start) / 1000).toFixed(0)
  console.log(`${basename(executable)}: ${plain}, packed ${packed} in ${seconds} s`)
}

try {
  const { values } = parseArgs({
    args: Bun.argv.slice(2),
    options: {
      target: { type: 'string', multiple: true, default: [] },
      out: { type: 'string', default: join(import.meta.dir, '..', 'dist') },
      level: { type: 'string', default: '19' },
      'no-images': { type: 'boolean', default: false },
    },
  })
  const out = resolve(values.out)
  // The paths in a metafile are relative to the current folder; the bill of materials needs them from the project's
  // root.
  process.chdir(join(import.meta.dir, '..'))
  await make(targetsNamed(values.target), out, Number(values.level), !values['no-images'])
} catch (error) {
  for (const cause of error instanceof AggregateError ? error.errors : [error])
    console.error(`release: ${cause instanceof Error ? cause.message : cause}`)
  process.exit(1)
}
