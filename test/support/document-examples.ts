import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Code and its output, one right after the other. */
const EXAMPLE = /```ts\n(?<code>(?:(?!```).)*)```\n+```text\n(?<output>.*?)```/gs
const ENTRIES = ['testing', 'meter', 'fetch', 'http']

/** Code in a document, and what it prints. */
export interface Example {
  readonly title: string
  readonly code: string
  readonly output: string
}

/** Every block of TypeScript that has an output. */
export async function examplesOf(document: string): Promise<Example[]> {
  const text = await readFile(join(ROOT, document), 'utf8')
  return [...text.matchAll(EXAMPLE)].map(({ groups }): Example => {
    const code = groups!['code']!
    const title = code.split('\n').find((line) => /^const (?:shaper|meter|spent|shopify)/.test(line))!
    return { title, code, output: groups!['output']! }
  })
}

export async function run(code: string): Promise<string> {
  let stdout = ''
  await inFile(code, async (file) => {
    stdout = (await promisify(execFile)(process.execPath, ['--import', 'tsx', file], { cwd: ROOT })).stdout
  })
  return stdout
}

/** The code in a file of its own, with the package's names leading to its source. */
export async function inFile(code: string, use: (file: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(ROOT, 'test', '.example-'))
  try {
    const file = join(folder, 'example.mts')
    const ours = ENTRIES.reduce(
      (text, entry) => text.replaceAll(`'velvet-rope/${entry}'`, `'../../src/${entry}.ts'`),
      code.replaceAll("'velvet-rope'", "'../../src/index.ts'"),
    )
    await writeFile(file, ours)
    await use(file)
  } finally {
    await rm(folder, { recursive: true })
  }
}
