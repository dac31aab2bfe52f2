import { describe, expect, it } from 'vitest'
import { readKeys } from '../../../src/cli/keyboard.ts'
import { TopSession } from '../../../src/cli/top/session.ts'
import { FIRST_STATE } from '../../../src/cli/top/state.ts'
import { BackendUnavailableError } from '../../../src/core/errors.ts'
import type { BucketPage, BucketQueryInput } from '../../../src/line/bucket-query.ts'
import type { FamilyQueryInput } from '../../../src/line/family-query.ts'
import { AT, family, view } from './top-views.ts'

interface Question {
  readonly query: BucketQueryInput
  readonly answer: (page: BucketPage) => void
  readonly fail: (error: Error) => void
}

/** A session whose time, screen and line do what the test says. */
function stage(total = 1) {
  const questions: Question[] = []
  const asked: FamilyQueryInput[] = []
  const frames: string[][] = []
  const waits: { ms: number; end: () => void }[] = []
  const size = { columns: 80, rows: 8 }
  let now = AT
  const session = new TopSession(
    FIRST_STATE,
    { rows: [view('first')], total },
    {
      lister: {
        buckets: (query = {}) =>
          new Promise((resolve, reject) => questions.push({ query, answer: resolve, fail: reject })),
        families: async (query = {}) => {
          asked.push(query)
          return { families: [family('a/')], total: 1 }
        },
        close: async () => {},
      },
      screen: {
        get size() {
          return size
        },
        draw: (lines) => void frames.push([...lines]),
      },
      place: 'here',
      everyMs: 1_000,
      now: () => now,
      wait: (ms, signal) =>
        new Promise((resolve) => {
          const wait = { ms, end: () => resolve() }
          waits.push(wait)
          signal.addEventListener('abort', () => {
            waits.splice(waits.indexOf(wait), 1)
            resolve()
          })
        }),
    },
  )
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return {
    session,
    questions,
    asked,
    frames,
    size,
    screen: () => frames.at(-1)!.join('\n'),
    press: async (text: string) => {
      session.press(readKeys(text))
      await settle()
    },
    /** The wait is over. */
    pass: async (ms: number) => {
      now += ms
      const [wait] = waits.splice(0, 1)
      expect(wait?.ms).toBe(ms)
      wait!.end()
      await settle()
    },
    answer: async (...keys: string[]) => {
      questions.at(-1)!.answer({ buckets: keys.map((key) => view(key)), total: Math.max(total, keys.length) })
      await settle()
    },
    fail: async (error: Error) => {
      questions.at(-1)!.fail(error)
      await settle()
    },
    settle,
  }
}

async function opened(total?: number) {
  const scene = stage(total)
  const left = scene.session.run()
  await scene.settle()
  return { ...scene, left }
}

describe('top while it lives', () => {
  it('draws immediately, and reads and draws again each second', async () => {
    const { session, questions, screen, pass, answer, left } = await opened()
    expect(screen()).toMatch(/^first /m)
    expect(questions).toHaveLength(0)
    await pass(1_000)
    expect(questions.map(({ query }) => query)).toEqual([
      { prefix: '', minFill: 0, sort: '-fill', limit: 200, cursor: undefined },
    ])
    await answer('second')
    expect(screen()).toMatch(/^second /m)
    await pass(1_000)
    expect(questions).toHaveLength(2)
    session.end()
    expect(await left).toBeUndefined()
  })

  it('reads immediately when a key asks for other buckets', async () => {
    const { session, questions, screen, press, answer } = await opened()
    await press('/web')
    expect(screen()).toContain('/web▏')
    expect(questions.map(({ query }) => query.prefix)).toEqual(['web'])
    await answer('web/a')
    expect(screen()).toMatch(/^web\/a /m)
    expect(questions).toHaveLength(1)
    session.end()
  })

  it('reads totals immediately when t asks for them, and shows buckets until they are there', async () => {
    const { session, asked, questions, screen, press, settle } = await opened()
    session.press(readKeys('t'))
    expect(screen()).toMatch(/^1 bucket:/m)
    await settle()
    expect(asked).toEqual([{ sort: '-fill', limit: 200, cursor: undefined }])
    expect(screen()).toMatch(/^a\/ /m)
    expect(screen()).toMatch(/1 family/)
    await press('t')
    expect(questions).toHaveLength(1)
    session.end()
  })

  it('shows no answer to a question that is not asked any more', async () => {
    const { session, questions, screen, press, answer } = await opened()
    await press('s')
    await press('s')
    expect(questions).toHaveLength(1)
    await answer('stale')
    expect(screen()).not.toContain('stale')
    expect(questions.map(({ query }) => query.sort)).toEqual(['-waiting', '-oldestWaitMs'])
    await answer('fresh')
    expect(screen()).toMatch(/^fresh /m)
    session.end()
  })

  it('reads as far as is scrolled to, and not one page more often', async () => {
    const { session, questions, press } = await opened(1_000)
    await press('\u001b[B')
    expect(questions).toHaveLength(0)
    await press('\u001b[F')
    expect(questions[0]!.query.limit).toBe(1_000)
    session.end()
  })

  it('keeps to what there is when buckets go away', async () => {
    const { session, screen, press, questions, settle } = await opened(500)
    await press('\u001b[F')
    questions[0]!.answer({ buckets: [view('only')], total: 1 })
    await settle()
    expect(screen()).toMatch(/^only /m)
    session.end()
  })

  it('draws in the new size immediately', async () => {
    const { session, frames, size } = await opened()
    Object.assign(size, { columns: 40, rows: 5 })
    session.resize()
    expect(frames.at(-1)).toHaveLength(5)
    session.end()
  })

  it('shows the age of the picture while the service is away, and goes on when it is back', async () => {
    const { session, questions, screen, pass, answer, fail } = await opened()
    await pass(1_000)
    await pass(1_000)
    expect(screen()).toMatch(/^2\.0s old: no answer for 1\.0s$/m)
    expect(screen()).toMatch(/^first /m)
    await fail(new BackendUnavailableError('the service at http://h does not answer'))
    expect(screen()).toMatch(/^2\.0s old: the service at http:\/\/h does not answer$/m)
    expect(questions).toHaveLength(1)
    await pass(1_000)
    await answer('back')
    expect(screen()).not.toContain('old:')
    expect(screen()).toMatch(/^back /m)
    session.end()
  })

  it('asks no more often when a key causes an error', async () => {
    const { session, questions, press, fail, screen } = await opened()
    await press('f')
    await fail(new BackendUnavailableError('no'))
    expect(questions).toHaveLength(1)
    expect(screen()).toContain('old: no')
    session.end()
  })

  it('leaves by q and by Ctrl-C, also while it waits for an answer', async () => {
    const quit = await opened()
    await quit.press('q')
    expect(await quit.left).toBe('quit')
    const interrupted = await opened()
    await interrupted.pass(1_000)
    const frames = interrupted.frames.length
    await interrupted.press('\u0003')
    expect(await interrupted.left).toBe('interrupt')
    await interrupted.answer('late')
    expect(interrupted.frames).toHaveLength(frames)
  })

  it('ends with an unexpected error', async () => {
    const { left, pass, fail } = await opened()
    const ended = expect(left).rejects.toThrow('a bug')
    await pass(1_000)
    await fail(new TypeError('a bug'))
    await ended
  })
})
