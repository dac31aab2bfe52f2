import { hostname } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Config } from '../../../src/config/config.ts'
import type { ConfigSources } from '../../../src/config/load-config.ts'
import { limitLayers, openShaper } from '../../../src/service/open-shaper.ts'
import { load, loadNothing } from '../config/config-folder.ts'

const FILE = "limits: { '*': '9, 1/s', shop: '8, 1/s' }"
const PROCESS = `${hostname()}:${process.pid}`

/** What a shaper of the configuration has in force, in short, and its source. */
function inForce(config: Config): string[] {
  const shaper = openShaper(config)
  onTestFinished(() => shaper.close())
  return shaper.limits
    .list()
    .map(({ pattern, limit, origin, by }) => `${pattern}: ${limit} ${origin} ${by}`)
    .sort()
}

const layersOf = async (sources: Partial<ConfigSources>, file = FILE) =>
  Object.fromEntries(limitLayers(await load(file, sources)).map(({ origin, limits }) => [origin, limits]))

describe('limits fill the layer that they come from', () => {
  test('a file, by its name and not its path', async () => {
    const config = await load(FILE)
    expect(config.file).toMatch(/^\/.+\/velvet-rope\.yaml$/)
    expect(inForce(config)).toEqual(['*: 9, 1/s file velvet-rope.yaml', 'shop: 8, 1/s file velvet-rope.yaml'])
  })

  test('the environment: all of them, or the one of every key', async () => {
    const all = { VELVET_ROPE_LIMITS: '{"a":"3, 1/s"}' }
    expect(inForce(await loadNothing({ env: all }))).toEqual([`a: 3, 1/s environment ${PROCESS}`])
    // In the place of those of the file, which are then not said at all.
    expect(await layersOf({ env: all })).toEqual({ environment: { a: '3, 1/s' } })
    const config = await load(FILE, { env: { VELVET_ROPE_LIMIT: '4, 1/s' } })
    expect(inForce(config)).toEqual([
      `*: 4, 1/s environment ${PROCESS}`,
      'shop: 8, 1/s file velvet-rope.yaml',
    ])
  })

  test('limits of a file that the environment overrides are loaded, too: processes with one file have one layer', async () => {
    const file = { '*': '9, 1/s', shop: '8, 1/s' }
    expect(await layersOf({ env: { VELVET_ROPE_LIMIT: '4, 1/s' } })).toEqual({
      file,
      environment: { '*': '4, 1/s' },
    })
    const both = { VELVET_ROPE_LIMIT: '4, 1/s', VELVET_ROPE_LIMITS: '{"a":"3, 1/s"}' }
    expect(await layersOf({ env: both })).toEqual({ environment: { a: '3, 1/s', '*': '4, 1/s' } })
    // It was never in force.
    const broken = "limits: { '*': nothing, shop: '8, 1/s' }"
    expect(await layersOf({ env: { VELVET_ROPE_LIMIT: '4, 1/s' } }, broken)).toEqual({
      file: { shop: '8, 1/s' },
      environment: { '*': '4, 1/s' },
    })
  })

  test('flags belong to this one process, like code, and override the rest in it', async () => {
    const flags = { limit: '2, 1/s' }
    const env = { VELVET_ROPE_LIMIT: '4, 1/s' }
    expect(await layersOf({ flags, env })).toEqual({ code: { '*': '2, 1/s' }, file: { shop: '8, 1/s' } })
    expect(inForce(await load(FILE, { flags }))).toEqual([
      `*: 2, 1/s code ${PROCESS}`,
      'shop: 8, 1/s file velvet-rope.yaml',
    ])
    expect(await layersOf({ flags: { limits: { b: '1, 1/s' } }, env })).toEqual({ code: { b: '1, 1/s' } })
  })

  test('there is no layer without limits', async () => {
    expect(limitLayers(await loadNothing({}))).toEqual([])
    expect(inForce(await loadNothing({}))).toEqual([])
  })
})
