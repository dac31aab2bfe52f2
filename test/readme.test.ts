import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const readme = await readFile(join(root, 'README.md'), 'utf8')
const EXAMPLE = /```ts\n(?<code>.*?)```\n+```text\n(?<output>.*?)```/gs

const examples = [...readme.matchAll(EXAMPLE)].map(({ groups }) => ({
  title: groups!['code']!.split('\n').find((line) => line.startsWith('const shaper'))!,
  code: groups!['code']!,
  output: groups!['output']!,
}))

test('the README shows examples with their output', () => {
  expect(examples.length).toBeGreaterThanOrEqual(2)
})

test.each(examples)('$title prints what the README says', async ({ code, output }) => {
  const folder = await mkdtemp(join(root, 'test', '.example-'))
  try {
    const file = join(folder, 'example.mts')
    await writeFile(
      file,
      code
        .replaceAll("'velvet-rope/testing'", "'../../src/testing.ts'")
        .replaceAll("'velvet-rope'", "'../../src/index.ts'"),
    )
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', file], { cwd: root })
    expect(stdout).toBe(output)
  } finally {
    await rm(folder, { recursive: true })
  }
})
