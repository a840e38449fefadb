import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dir, '..', '..')
const TOOL = join(root, 'node_modules', '@cyclonedx', 'cyclonedx-esbuild', 'bin', 'cyclonedx-esbuild-cli.js')

/** The parts of a bill that are looked at here. */
interface Bill {
  metadata: { component: { 'bom-ref': string } }
  components: object[]
  dependencies: { ref: string; dependsOn?: string[] }[]
}

/**
 * The bill of materials of an executable, CycloneDX 1.6 in JSON: the packages that have a file in it, as
 * cyclonedx-esbuild finds them, and Bun. The same input gives the same bytes.
 * @param metafile what Bun.build says of where things came from, with paths from the root of the project
 * @throws Error with the tool's words when it fails, or when its result does not follow CycloneDX's schema
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

/** Bun is in no bundle: it is what the bundle is put into. */
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
