import { beforeEach, describe, expect, it, vi } from 'vitest'
import { plainText } from '../../../src/cli/display-text.ts'
import { readKeys } from '../../../src/cli/keyboard.ts'
import { readTop, type TopLister, type TopRows } from '../../../src/cli/top/rows.ts'
import { renderTop } from '../../../src/cli/top/screen.ts'
import { FIRST_STATE, familiesOf, press, type TopState } from '../../../src/cli/top/state.ts'
import { openService } from './open-service.ts'
import { run } from './run-program.ts'
import { AT, family, view } from './top-views.ts'

beforeEach(() => {
  for (const name of ['REDIS_URL', 'VELVET_ROPE_NAME', 'VELVET_ROPE_TOKEN', 'VELVET_ROPE_URL']) {
    vi.stubEnv(name, undefined)
  }
})

const after = (text: string, state: TopState = FIRST_STATE) =>
  readKeys(text).reduce((now, key) => press(now, key, { total: 100, seen: 10 }), state)

/** Lists these, whatever is asked, one on each page. */
function listing(paths: readonly string[]) {
  const asked: unknown[] = []
  const lister: TopLister = {
    buckets: async () => ({ buckets: [view('k')], total: 1 }),
    families: async (query = {}) => {
      asked.push(query)
      const at = Number(query.cursor ?? 0)
      const more = at + 1 < paths.length && { cursor: String(at + 1) }
      return { families: [family(paths[at]!)], total: paths.length, ...more }
    },
    close: async () => {},
  }
  return { lister, asked }
}

async function drawn(columns: number, state: TopState, views: readonly ReturnType<typeof family>[]) {
  const { lister } = listing([])
  const families = { ...lister, families: async () => ({ families: views, total: views.length }) }
  const found: TopRows = await readTop(families, state, 10)
  return renderTop({ state, found, place: 'here', now: AT }, { columns, rows: 7 }).map((line) =>
    plainText(line).trimEnd(),
  )
}

describe('totals in top', () => {
  it('are asked for with t, and buckets with t again', () => {
    expect(after('t')).toMatchObject({ isFamilies: true, sort: 'fill' })
    expect(after('tt')).toMatchObject({ isFamilies: false })
    // What totals have not is forgotten.
    expect(after('ffsst')).toMatchObject({ isFamilies: true, minFill: 0, sort: 'fill' })
    expect(after('st')).toMatchObject({ isFamilies: true, sort: 'waiting' })
    expect(after('tf')).toMatchObject({ minFill: 0 })
  })

  it('are sorted by what they have', () => {
    expect(['', 's', 'ss', 'sss', 'ssss'].map((keys) => familiesOf(after(`t${keys}`)).sort)).toEqual([
      '-fill',
      '-waiting',
      '-running',
      'path',
      '-fill',
    ])
    expect(familiesOf(after('tSr')).sort).toBe('-path')
  })

  it('are those at and below a key, with its slash or without it', () => {
    expect(familiesOf(after('t'))).not.toHaveProperty('under')
    for (const typed of ['stripe', 'stripe/']) expect(familiesOf(after(`t/${typed}`)).under).toBe('stripe')
  })

  it('are read page by page', async () => {
    const { lister, asked } = listing(['a/', 'b/', 'c/'])
    const found = await readTop(lister, after('t'), 2)
    expect(found).toMatchObject({ isFamilies: true, total: 3, rows: [{ key: 'a/' }, { key: 'b/' }] })
    expect(asked).toEqual([
      { sort: '-fill', limit: 2 },
      { sort: '-fill', limit: 1, cursor: '1' },
    ])
  })

  it('are rows with the number of their children, and no sum of what counts twice', async () => {
    const views = [
      family('stripe/', { state: 'full', waiting: 100, fill: 1, children: 12 }),
      family('stripe/eu/', { fill: 0.25, waiting: 25, limit: '100, 2/s' }),
    ]
    expect(await drawn(80, after('t'), views)).toEqual([
      '2 families: 1 full                                                          here',
      'by fill, largest first',
      'family                      fill▼              waiting  state    children   next',
      'stripe/                     ██████████ 100%    100/100  full           12   40ms',
      'stripe/eu/                  ██▌·······  25%     25/100  waiting         3   40ms',
      '',
      'q quit  t buckets  / key  s sort  r reverse  ↑↓ scroll  Esc all',
    ])
    expect((await drawn(80, after('t/stripe\r'), views))[1]).toBe('in stripe  by fill, largest first')
    expect(await drawn(80, after('t'), [])).toContain(
      'no live families: no rule limits a sum, or nothing lives',
    )
    expect(await drawn(80, after('t/a\r'), [])).toContain('no family matches')
  })

  it('always fit the screen', async () => {
    const views = [family('東京'.repeat(40)), family('b/', { places: { taken: 1, of: 2 } })]
    for (const columns of [20, 40, 59, 60, 80, 140, 250]) {
      for (const line of await drawn(columns, after('t'), views))
        expect(line.length).toBeLessThanOrEqual(columns)
    }
  })
})

describe('top --families', () => {
  async function busyService() {
    const service = await openService({ '*': '9, 1/h', '*/': '8, 2/h', 'a/b/': '4, 1/h, 3 at once' })
    for (const key of ['a/b/x', 'a/b/y', 'a/c', 'd/x']) await service.shaper.enqueue(key, 1)
    return service
  }

  it('prints a table', async () => {
    const { url } = await busyService()
    const { code, stdout, stderr } = await run('top', '--families', '--url', url)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines[0]).toMatch(
      /^family +fill +waiting +running +state +children +next +rate +quotas and places$/,
    )
    // The clock on the wall may be a little behind the one of the process that enqueued.
    expect(lines.slice(2)).toEqual([
      expect.stringMatching(
        /^a\/b\/ +█{5}·{5} +50% +2\/4 +0 +waiting +2 +(?:now|\d+ms) +1\/h +0 of 3 at once/,
      ),
      expect.stringMatching(/^a\/ +\S+ +37% +3\/8 +0 +waiting +2 +(?:now|\d+ms) +2\/h/),
      expect.stringMatching(/^d\/ +\S+ +12% +1\/8 +0 +waiting +1 +(?:now|\d+ms) +2\/h/),
    ])
  })

  it('prints JSON, which holds what the shaper returns', async () => {
    const { shaper, url } = await busyService()
    const json = async (...args: string[]) =>
      JSON.parse((await run('top', '--families', '--json', '--url', url, ...args)).stdout)
    const found = await json()
    const { families } = await shaper.families()
    expect(found).toMatchObject({ total: 3 })
    const unmoved = ({ nextDepartureAt, ...rest }: { nextDepartureAt?: number }) => rest
    expect(found.families.map(unmoved)).toEqual(families.map(unmoved))
    expect(found).not.toHaveProperty('buckets')
    const paths = async (...args: string[]) =>
      (await json(...args)).families.map(({ path }: { path: string }) => path)
    expect(await paths('a', '--sort', 'key')).toEqual(['a/', 'a/b/'])
    expect(await paths('a/b')).toEqual(['a/b/'])
    expect(await paths('--sort', 'waiting', '--reverse')).toEqual(['d/', 'a/b/', 'a/'])
  })

  it('says how many it left out, and what it cannot do', async () => {
    const { url } = await busyService()
    expect((await run('top', '--families', '--url', url, '--count', '1')).stderr).toBe(
      '1 of 3 families; --count for more\n',
    )
    const sorted = await run('top', '--families', '--sort', 'oldest', '--url', url)
    expect(sorted).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'expected --sort with --families to be fill, waiting, running, key, got: oldest',
      ),
    })
    const filled = await run('top', '--families', '--min-fill', '50%', '--url', url)
    expect(filled).toMatchObject({ code: 2, stderr: expect.stringContaining('no filter by fill') })
  })
})
