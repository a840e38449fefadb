import { statSync } from 'node:fs'

/**
 * Compresses a file with zstd, at a level from 1 to 19, without blocking this process.
 * @returns the sizes before and after, in bytes
 */
export async function compress(
  file: string,
  into: string,
  level: number,
): Promise<{ plain: number; packed: number }> {
  const plain = await Bun.file(file).bytes()
  await Bun.write(into, await Bun.zstdCompress(plain, { level }))
  return { plain: plain.length, packed: statSync(into).size }
}
