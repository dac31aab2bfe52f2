import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { transformWithOxc } from 'vite'
import { inject } from 'vitest'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Code and its output, one right after the other. */
const EXAMPLE = /```ts\n(?<code>(?:(?!```).)*)```\n+```text\n(?<output>.*?)```/gs
const FIRST = /^```(?<language>\w+)\n(?<code>.*?)^```/ms
const CODE = /```ts\n(?<code>(?:(?!```).)*)```/gs
const ENTRIES = ['testing', 'meter', 'fetch', 'http']

/** What users read: the README, and every subject in `docs/`. */
export const DOCUMENTS: readonly string[] = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

/** Code in a document, and what it prints. */
export interface Example {
  readonly code: string
  readonly output: string
}

/** Every block of TypeScript that has an output. */
export async function examplesOf(document: string): Promise<Example[]> {
  const text = await readFile(join(ROOT, document), 'utf8')
  return [...text.matchAll(EXAMPLE)].map(({ groups }) => ({
    code: groups!['code']!,
    output: groups!['output']!,
  }))
}

/** The first block of code in a document, in whatever language. */
export async function firstCodeOf(document: string): Promise<{ language: string; code: string }> {
  const { groups } = FIRST.exec(await readFile(join(ROOT, document), 'utf8'))!
  return { language: groups!['language']!, code: groups!['code']! }
}

/** Every block of TypeScript, whether it shows an output or not. */
export async function codeOf(document: string): Promise<string[]> {
  const text = await readFile(join(ROOT, document), 'utf8')
  return [...text.matchAll(CODE)].map(({ groups }) => groups!['code']!)
}

/** The code, compiled, in a file of its own, with the package's names leading to its sources, built. */
export async function inFile(code: string, use: (file: string) => Promise<void>): Promise<void> {
  const built = inject('builtFolder')
  const folder = await mkdtemp(join(built, 'example-'))
  try {
    const file = join(folder, 'example.mjs')
    const ours = leadTo(code, (entry) => `../src/${entry}.js`)
    await writeFile(file, (await transformWithOxc(ours, 'example.mts')).code)
    await use(file)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** What `tsc` says about the examples under `strict`; empty if they compile. */
export async function compilerErrors(examples: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(ROOT, 'test', '.example-'))
  try {
    const compilerOptions = {
      target: 'es2023',
      lib: ['es2023', 'esnext.disposable'],
      module: 'nodenext',
      types: ['node'],
      strict: true,
      skipLibCheck: true,
      noEmit: true,
      allowImportingTsExtensions: true,
    }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.mts'] }))
    await Promise.all(
      examples.map((code, index) => writeFile(join(folder, `example-${index + 1}.mts`), fromSource(code))),
    )
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const { stdout } = await promisify(execFile)(process.execPath, [tsc, '-p', folder]).catch(
      (failed: { stdout: string }) => failed,
    )
    return stdout
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** The package's names lead to its source. */
function fromSource(code: string): string {
  return leadTo(code, (entry) => `../../src/${entry}.ts`)
}

function leadTo(code: string, pathOf: (entry: string) => string): string {
  return ENTRIES.reduce(
    (text, entry) => text.replaceAll(`'velvet-rope/${entry}'`, `'${pathOf(entry)}'`),
    code.replaceAll("'velvet-rope'", `'${pathOf('index')}'`),
  )
}
