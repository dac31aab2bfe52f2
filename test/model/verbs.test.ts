import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PLACES, VERBS } from './actors/transition.ts'
import { TRANSITIONS } from './check/transitions.ts'

const REDIS = new URL('../../src/redis/', import.meta.url)

/** Scripts that change something and are no transition, and why. */
const NOT_MODELLED: Readonly<Record<string, string>> = {
  'verbs/follow.lua':
    'gives a worker several jobs of a fast bucket; the interval of the model is too long for that, and the simulator has such buckets',
  'rules/draft.lua':
    'keeps the pages of a long rule book until `book` puts it in force; nothing reads them before',
  'rules/layout.lua': 'agrees on the number of shards before the line is used; the model has one shard',
  'scripts/zones.lua': 'says when the clocks of time zones are set; no limit of the model has a calendar',
  'views/recent.lua':
    'prolongs the time for which events of a bucket are kept, on which no start or end depends',
  'views/reindex.lua': 'writes an index that only lists of buckets read',
}

/** All scripts that may write. */
function scriptsThatWrite(): string[] {
  const names = readdirSync(REDIS, { recursive: true, encoding: 'utf8' })
  const scripts = names.filter((name) => name.endsWith('.lua') && !name.startsWith('scripts/'))
  return scripts.filter(
    (name) => !/^#!lua flags=.*no-writes/.test(readFileSync(new URL(name, REDIS), 'utf8')),
  )
}

test('each script that changes something is named by a transition, or it is said why not', () => {
  const named = new Set(TRANSITIONS.map(({ verb }) => verb))
  const unnamed = scriptsThatWrite().filter((name) => !named.has(name) && NOT_MODELLED[name] === undefined)
  expect(unnamed).toEqual([])
})

test('each verb of the list has its script in verbs/', () => {
  const list = readFileSync(new URL('verbs/verbs.ts', REDIS), 'utf8')
  const files = [...list.matchAll(/from '\.\/(\w+)\.ts'/g)].map(([, name]) => name!)
  const scripts = files
    .filter((name) => existsSync(new URL(`verbs/${name}.lua`, REDIS)))
    .map((name) => `verbs/${name}.lua`)
  const writing = scriptsThatWrite()
  const known: readonly string[] = Object.values(VERBS)
  const unnamed = scripts.filter((name) => writing.includes(name) && !known.includes(name))
  expect(unnamed.filter((name) => NOT_MODELLED[name] === undefined)).toEqual([])
})

test('what transitions and exceptions name is there', () => {
  const places = [
    ...Object.values(PLACES).filter((place) => place.endsWith('.ts') || place.endsWith('.lua')),
    ...Object.values(VERBS),
  ]
  expect(
    [...places, ...Object.keys(NOT_MODELLED)].filter((place) => !existsSync(new URL(place, REDIS))),
  ).toEqual([])
  const used = new Set(TRANSITIONS.map(({ verb }) => verb))
  expect(Object.values(VERBS).filter((verb) => !used.has(verb))).toEqual([])
})
