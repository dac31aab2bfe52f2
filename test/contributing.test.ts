import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const { scripts, engines } = z
  .object({ scripts: z.record(z.string(), z.string()), engines: z.object({ node: z.string() }) })
  .parse(JSON.parse(textOf('package.json')))

/** Scripts of the manifest that a text runs. */
function scriptsIn(text: string): string[] {
  return [...text.matchAll(/\bnpm (?:run ([\w:-]+)|(test)\b)/g)].map(([, script, test]) => (script ?? test)!)
}

describe.each(['CONTRIBUTING.md', 'SECURITY.md', 'examples/README.md'])('%s', (document) => {
  const text = textOf(document)

  test('names files and folders that exist', () => {
    const links = [...text.matchAll(/\]\((?!\w+:)([^)#\s]+)/g)].map(([, path]) =>
      join(dirname(document), path!),
    )
    const paths = text.match(/\b(?:src|test|docs|bench|examples|grafana)\/[\w./-]*\w/g) ?? []
    const named = [...links, ...paths]
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })

  test('runs scripts that the manifest has', () => {
    expect(scriptsIn(text).filter((name) => !(name in scripts))).toEqual([])
  })
})

describe('the workflow', () => {
  const step = z.object({ run: z.string().optional() })
  const job = z.object({
    steps: z.array(step),
    strategy: z
      .object({ matrix: z.object({ node: z.array(z.number()), server: z.array(z.string()) }) })
      .optional(),
  })
  const { jobs } = z
    .object({ jobs: z.record(z.string(), job) })
    .parse(parse(textOf('.github/workflows/ci.yml')))

  test('runs every check and the fault campaigns, by scripts that the manifest has', () => {
    const found = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run = '' }) => scriptsIn(run)))
    expect(found).toEqual(expect.arrayContaining(['test', 'test:faults', 'build']))
    expect(found.filter((name) => !(name in scripts))).toEqual([])
  })

  test('runs them on the oldest Node that the manifest allows and on newer ones, over Redis and Valkey', () => {
    const { node, server } = jobs['check']!.strategy!.matrix
    expect(node).toEqual([20, 22, 24])
    expect(engines.node).toBe('>=20.19')
    expect(server.map((image) => image.split(':')[0])).toEqual(['redis', 'valkey/valkey'])
  })
})

test('every form for an issue has a name, a description and fields', () => {
  const folder = '.github/ISSUE_TEMPLATE'
  const form = z.object({
    name: z.string(),
    description: z.string(),
    body: z.array(z.object({ type: z.string() })).min(1),
  })
  const forms = readdirSync(join(ROOT, folder))
  expect(forms.length).toBeGreaterThan(0)
  for (const name of forms) expect(() => form.parse(parse(textOf(`${folder}/${name}`)))).not.toThrow()
})
