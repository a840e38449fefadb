// Writes the type of the service for TypeScript clients: `bun scripts/types.ts [--outfile dist/axport.d.ts]`.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dir, '..')

/** The declaration of the type `App`, as the compiler infers it, in one file without imports from this project. */
function declare(): string {
  const folder = mkdtempSync(join(tmpdir(), 'axport-types-'))
  try {
    const config = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        declaration: true,
        emitDeclarationOnly: true,
        outDir: join(folder, 'out'),
        rootDir: root,
        typeRoots: [join(root, 'node_modules')],
      },
      include: [],
      files: [join(root, 'src', 'http', 'app.ts'), join(root, 'src', 'modules.d.ts')],
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    const { success, stdout } = Bun.spawnSync([process.execPath, tsc, '-p', folder])
    if (!success) throw new Error(`the compiler cannot make the declarations: ${stdout.toString()}`)
    const inferred = readFileSync(join(folder, 'out', 'src', 'http', 'app.d.ts'), 'utf8')
    const [, type] = /^export declare function createApp\(.*?\): (Elysia<.*?^}>;)$/ms.exec(inferred) ?? []
    if (!type || /import\("\./.test(type))
      throw new Error('the compiler declares createApp() in an unexpected form')
    return `import type { Elysia } from 'elysia'\n\n/** The Assessment Export Service, for Eden. */\nexport type App = ${type}\n`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const { values } = parseArgs({
  args: Bun.argv.slice(2),
  options: { outfile: { type: 'string', default: join(root, 'dist', 'axport.d.ts') } },
})
const outfile = resolve(values.outfile)
mkdirSync(dirname(outfile), { recursive: true })
writeFileSync(outfile, declare())
console.log(outfile)
