import { Readable } from 'node:stream'
import { beforeEach, expect, it, vi } from 'vitest'
import { runProgram } from '../../../src/cli/program.ts'
import { openService, SECRET, tokenFor } from './open-service.ts'
import { catchOutput, run } from './run-program.ts'

beforeEach(() => {
  for (const name of ['REDIS_URL', 'VELVET_ROPE_NAME', 'VELVET_ROPE_TOKEN']) vi.stubEnv(name, undefined)
})

const job = (key: string, n: number, more = '') => `{"key":"${key}","data":${n}${more}}\n`

/** Runs the command in this process, with this on its standard input. */
function enqueue(url: string, args: readonly string[], input = '') {
  return catchOutput(() => {
    const stdin = Object.assign(Readable.from([Buffer.from(input)]), { isTTY: false })
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(stdin as typeof process.stdin)
    return runProgram(['enqueue', ...args, '--url', url])
  })
}

it('enqueue puts a job into the line of a service, and exits with 3 when it is full', async () => {
  const { shaper, url } = await openService({ '*': '1, 1/h' })
  const args = ['a/b', '{"text":"hello"}', '--id', 'order-7', '--attempts', '3']
  expect(await enqueue(url, args)).toEqual({
    code: 0,
    stdout: 'accepted  order-7: position 1, departs now\n',
    stderr: '',
  })
  expect(await enqueue(url, args)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('repeated answer'),
  })
  expect(await shaper.job('order-7')).toMatchObject({ data: { text: 'hello' }, attempts: 3 })
  expect(await enqueue(url, ['a/b', '1', '--json'])).toEqual({
    code: 3,
    stdout: expect.stringMatching(
      /^\{"accepted":false,"reason":"full","key":"a\/b",.*"waiting":1,"capacity":1\}\n$/,
    ),
    stderr: '',
  })
  const { stdout } = await enqueue(url, ['a/b', '1', '--cost', '2', '--json'])
  expect(JSON.parse(stdout)).toEqual({
    accepted: false,
    reason: 'too-costly',
    key: 'a/b',
    waiting: 1,
    capacity: 1,
  })
})

it('enqueue says which total refused a job', async () => {
  const { shaper, url } = await openService({ '*': '5, 1/h', 'a/': '1, 1/h, 9 tokens/day 1 each' })
  const tried = async (...args: string[]) => (await run('enqueue', ...args, '--url', url)).stdout
  expect(await tried('a/x', '1', '--cost', '2')).toBe(
    'rejected  too-costly: 0 of 1 waiting below a/; the cost exceeds the capacity of a/\n',
  )
  expect(await tried('a/x', '1', '--cost-of', 'tokens=10')).toMatch(
    /exceeds the quota of 9 tokens\/day of a\/\n$/,
  )
  await shaper.enqueue('a/x', 1)
  expect(await tried('a/y', '1')).toMatch(/^rejected {2}full: 1 of 1 waiting below a\/; retry in /)
})

it('enqueue sends the lines of its input, batch after batch', async () => {
  const { shaper, url } = await openService({ '*': '100, 1/h' })
  const input = Array.from({ length: 1_200 }, (_, n) => job(`k${n % 10}`, n)).join('')
  const { code, stdout, stderr } = await enqueue(url, [], input)
  expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
  expect(stdout).toMatch(/^accepted +1,000\nrejected +200\n {2}full +200\n/)
  expect(await shaper.inspect('k9')).toMatchObject({ waiting: 100 })
})

it('enqueue with --wait retries until all are in', async () => {
  const { shaper, url } = await openService({ '*': '2, 50/s' })
  const done: number[] = []
  shaper.work(({ data }) => void done.push(Number(data)))
  const input = Array.from({ length: 20 }, (_, n) => job('a', n)).join('')
  expect(await enqueue(url, ['--wait'], input)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^accepted +20\n/),
  })
  // Those of a batch are not judged at one moment, so a later one may find the room that an earlier one did not.
  const sorted = () => done.toSorted((a, b) => a - b)
  await expect.poll(sorted).toEqual(Array.from({ length: 20 }, (_, n) => n))
})

it('a fault is reported once, with its place', async () => {
  const { url } = await openService({ '*': '9, 1/h' })
  const { code, stderr } = await enqueue(url, ['..', '1'])
  expect(code).toBe(2)
  expect(stderr.match(/no segment \. or \.\./g)).toHaveLength(1)
  expect(stderr).toContain('#/jobs/0/key expected the key')
})

it('enqueue reports inadmissible lines, and goes on with --skip-invalid', async () => {
  const { shaper, url } = await openService({ 'ok/*': '9, 1/h' })
  const input = job('ok/a', 1) + job('unknown', 2) + job('ok/b', 3)
  const stopped = await enqueue(url, [], input)
  expect(stopped).toMatchObject({ code: 2, stdout: '' })
  expect(stopped.stderr).toMatch(
    /\nvelvet-rope: stdin:2:1: the service answered 422: no limit applies to the key "unknown"/,
  )
  const { code, stdout, stderr } = await enqueue(url, ['--skip-invalid'], input)
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^stdin:2:1: /) })
  expect(stdout).toMatch(/^accepted +2\n[\s\S]*^invalid lines +1$/m)
  expect((await shaper.buckets()).total).toBe(2)
})

it('enqueue shows its token to the service alone', async () => {
  const { url } = await openService({ '*': '9, 1/h' }, [tokenFor('enqueue')])
  const ran = [
    await enqueue(url, ['a', '1']),
    await enqueue(url, ['a', '1', '--token', 'wrong']),
    await run('limits', 'set', 'a', '1, 1/s', '--url', url, '--token', SECRET),
  ]
  vi.stubEnv('VELVET_ROPE_TOKEN', SECRET)
  ran.push(await enqueue(url, ['a', '1']))
  expect(ran.map(({ code }) => code)).toEqual([2, 2, 2, 0])
  expect(ran[0]!.stderr).toMatch(/^velvet-rope: the service answered 401: [^\n]*VELVET_ROPE_TOKEN[^\n]*\n$/)
  expect(ran[2]!.stderr).toMatch(/^velvet-rope: the service answered 403: [^\n]*\n$/)
  expect(JSON.stringify(ran)).not.toContain(SECRET)
})

it('enqueue says how far it came when the service goes away', async () => {
  const { url, close } = await openService({ '*': '9, 1/h' })
  await close()
  expect(await enqueue(url, [], job('a', 1) + job('a', 2))).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^accepted so far: none; lines 1 to 2 may have been accepted: [^\n]*\nvelvet-rope: the service at \S+ does not answer: [^\n]*\n$/,
    ),
  })
})
