import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dir, '..', '..')
const TOOL = join(root, 'node_modules', '@cyclonedx', 'cyclonedx-esbuild', 'bin', 'cyclonedx-esbuild-cli.js')

/** The parts of a bill of materials that this file reads. */
interface Bill {
  metadata: { component: { 'bom-ref': string } }
  components: object[]
  dependencies: { ref: string; dependsOn?: string[] }[]
}

/**
 * The bill of materials of an executable, as CycloneDX 1.6 in JSON: Bun, and the packages of which the executable
 * contains files, found by cyclonedx-esbuild. The same input gives the same bytes.
 * @param metafile the metafile of Bun.build, with paths relative to the root of the project
 * @throws Error with the tool's output if the tool fails, or if its result violates CycloneDX's schema
 */
export async function billOfMaterials(metafile: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'axport-sbom-'))
  try {
    const input = join(folder, 'metafile.json')
    writeFileSync(input, metafile)
    const command = [
      process.execPath,
      TOOL,
      '--output-reproducible',
      '--validate',
      '--output-file',
      '-',
      input,
    ]
    const run = Bun.spawn(command, { cwd: root, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
    const [bill, words] = await Promise.all([
      new Response(run.stdout).text(),
      new Response(run.stderr).text(),
    ])
    if ((await run.exited) !== 0) throw new Error(`the bill of materials was not made: ${words.trim()}`)
    return `${JSON.stringify(withBun(JSON.parse(bill)), null, 2)}\n`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Adds Bun, which is in no metafile, because the bundle is put into Bun's executable. */
function withBun(bill: Bill): Bill {
  const ref = `bun@${Bun.version}`
  const main = bill.metadata.component['bom-ref']
  const bun = {
    type: 'platform',
    name: 'bun',
    version: Bun.version,
    'bom-ref': ref,
    licenses: [{ license: { id: 'MIT' } }],
    purl: `pkg:npm/bun@${Bun.version}`,
  }
  const dependencies = bill.dependencies.map(each =>
    each.ref === main ? { ...each, dependsOn: [...(each.dependsOn ?? []), ref] } : each,
  )
  return { ...bill, components: [...bill.components, bun], dependencies: [...dependencies, { ref }] }
}
