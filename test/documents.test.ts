import { execFile, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import {
  DOCUMENTS,
  type Example,
  examplesOf,
  firstCodeOf,
  inFile,
  ROOT,
} from './support/document-examples.ts'
import { startRedis } from './support/redis-server.ts'

/** Without the times of the examples in real time: a busy machine adds to them. */
function timeless(output: string): string {
  return output.replace(/\d\.\d s$/gm, '<time>')
}

function departures(output: string): number[] {
  return [...output.matchAll(/departs after (\d\.\d) s$/gm)].map(([, seconds]) => Number(seconds))
}

/** Runs an example. One that runs until SIGTERM gets it when it has printed as much as it should. */
async function outputOf({ code, output }: Example, env: NodeJS.ProcessEnv): Promise<string> {
  let printed = ''
  await inFile(code, async (file) => {
    if (!code.includes("'SIGTERM'")) {
      printed = (await promisify(execFile)(process.execPath, [file], { env })).stdout
      return
    }
    const child = spawn(process.execPath, [file], { env })
    await new Promise<void>((resolve) => {
      child.once('close', resolve)
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        printed += text
        if (printed.length >= output.length) child.kill('SIGTERM')
      })
    })
    expect(child.exitCode).toBe(0)
  })
  return printed
}

const examples = await Promise.all(
  DOCUMENTS.map(async (document) => ({ document, examples: await examplesOf(document) })),
)

test.each(examples.filter((of) => of.examples.length > 0))(
  'every example of $document prints what it says, and starts no job earlier',
  async ({ examples }) => {
    const env = { ...process.env }
    if (examples.some(({ code }) => code.includes('REDIS_URL'))) env['REDIS_URL'] = (await startRedis()).url
    for (const example of examples) {
      const printed = await outputOf(example, env)
      const { code, output } = example
      if (code.includes('VirtualClock')) expect(printed, code).toBe(output)
      else expect(timeless(printed), code).toBe(timeless(output))
      for (const [n, seconds] of departures(printed).entries())
        expect(seconds).toBeGreaterThanOrEqual(departures(output)[n]!)
    }
  },
)

test.each(examples)('$document begins with an example that the tests run', async ({ document, examples }) => {
  const first = await firstCodeOf(document)
  const isDialogue = first.language === 'console' && first.code.startsWith('$ cat ')
  const isInstallation = document === 'README.md' && first.code.includes('npm pack')
  expect(isDialogue || isInstallation || examples[0]?.code === first.code, first.code).toBe(true)
})

test('the README is short, and names every document', async () => {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8')
  expect(readme.split('\n').length).toBeLessThanOrEqual(200)
  const others = DOCUMENTS.filter((document) => document !== 'README.md')
  expect(others.filter((document) => !readme.includes(`](${document})`))).toEqual([])
})

test('the README names the commands that check everything', async () => {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8')
  const commands = (await readFile(join(ROOT, '.ci/run'), 'utf8')).match(/^npm .*$/gm)!
  expect(commands.filter((command) => !readme.includes(command))).toEqual([])
})

test('there is a recipe for each of the usual needs', async () => {
  expect(await examplesOf('docs/recipes.md')).toHaveLength(12)
})
