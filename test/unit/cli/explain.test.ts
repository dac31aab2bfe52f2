import { beforeEach, describe, expect, it, vi } from 'vitest'
import { openService, openStranger, SECRET, tokenFor } from './open-service.ts'
import { run } from './run-program.ts'

beforeEach(() => {
  for (const name of ['REDIS_URL', 'VELVET_ROPE_NAME', 'VELVET_ROPE_TOKEN']) vi.stubEnv(name, undefined)
})

async function threeWait() {
  const service = await openService({ '*': '100, 1/h' })
  for (const id of ['x', 'y', 'z']) await service.shaper.enqueue('stripe/\u202e42', null, { id })
  return service
}

describe('explain', () => {
  it('says it in a sentence, and shows what holds the job, which jobs are ahead of it and which rule governs it', async () => {
    const { shaper, url } = await threeWait()
    await shaper.freeze('stripe/\u202e42', 60_000)
    const { code, stdout, stderr } = await run('explain', 'z', '--url', url)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout.split('\n')
    expect(lines[0]).toMatch(
      /^Third in line of stripe\/\\u\{202e\}42, which is frozen for another \d\d s: could depart in 2 h at 1\/h, behind 2 jobs, but no worker takes jobs\.$/,
    )
    expect(lines.slice(1)).toEqual([
      '',
      'held by    until (UTC)              why',
      expect.stringMatching(/^─+ {2}─+ {2}─+$/),
      expect.stringMatching(/^no-worker {27}no worker takes jobs in this process: /),
      expect.stringMatching(/^line {32}2 jobs depart before it$/),
      expect.stringMatching(/^frozen {5}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} {2}the bucket is frozen$/),
      '',
      'ahead of it  x, y',
      'rule         *: 100, 1/h (code, set by app:17)',
      '',
    ])
  })

  it('answers in JSON', async () => {
    const { shaper, url } = await threeWait()
    const { stdout } = await run('explain', 'z', '--url', url, '--json')
    expect(JSON.parse(stdout)).toEqual(await shaper.explain('z'))
  })

  it('exits with 1 for an unknown job', async () => {
    const { url } = await threeWait()
    expect(await run('explain', 'unknown-job', '--url', url)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'job unknown-job is unknown; ended jobs are kept for a while only\n',
    })
    expect(await run('explain', 'unknown-job', '--url', url, '--json')).toMatchObject({
      code: 1,
      stdout: 'null\n',
    })
  })

  it('asks with the token', async () => {
    const { shaper, url } = await openService({ '*': '9, 1/h' }, [tokenFor('read', 'ours')])
    await shaper.enqueue('ours', null, { id: 'x' })
    await shaper.enqueue('theirs', null, { id: 'y' })
    const token = ['--url', url, '--token', SECRET]
    expect((await run('explain', 'x', ...token)).code).toBe(0)
    expect((await run('explain', 'y', ...token)).code).toBe(1)
    expect((await run('explain', 'x', '--url', url)).code).toBe(2)
  })

  it.each(['..', 'a/b', '', 'x'.repeat(129)])('refuses the id %j without a request', async (id) => {
    const { asked, url } = await openStranger((response) => response.end('{}'))
    expect(await run('explain', id, '--url', url)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('expected <id> to be letters'),
    })
    expect(asked).toEqual([])
  })

  it('does not take the page of another server for an answer', async () => {
    const { url } = await openStranger((response) => response.writeHead(404).end('<html>not here'))
    expect(await run('explain', 'x', '--url', url)).toMatchObject({ code: 2, stdout: '' })
  })
})
