import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compare } from './comparison.ts'
import { randomCommand } from './random-commands.ts'
import { RealAndOurs } from './real-and-ours.ts'
import { storeRuns } from './runs.ts'

test('random commands give the replies of a real Redis', async () => {
  const both = await RealAndOurs.start({ 'enable-debug-command': 'yes' })
  // Else a real one removes what has ended whenever it has the time.
  await both.tellReal(['DEBUG', 'SET-ACTIVE-EXPIRE', '0'])
  await fc.assert(
    fc.asyncProperty(
      fc.array(randomCommand, { minLength: 1, maxLength: 60, size: 'max' }),
      fc.constantFrom(1, 7, 64, 100_000),
      async (commands, cut) => {
        await both.reset()
        const { real, ours } = await both.answers(commands, cut)
        expect(compare(commands, ours)).toEqual(compare(commands, real))
      },
    ),
    storeRuns(600),
  )
})
