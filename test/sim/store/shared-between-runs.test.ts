import { expect, test } from 'vitest'
import { RealAndOurs } from './real-and-ours.ts'

/** What the translator makes once for all runs of a script, in ways in which a run could see what another one did. */
const SCRIPT = `
local Names = { first = KEYS[1] .. ':x', second = 'y' .. KEYS[1] .. ':z' }
local Fixed = { a = 1, b = 2, 'c' }
local Changed = { a = 1 }
local Given = { a = 1 }
local seen, count = {}, 0
local last
local function note(value)
  count = count + 1
  seen[count] = value
  last = value .. ARGV[1]
  return count
end
local function down(n) if n == 0 then return 0 end return 1 + down(n - 1) end
local replaced = function() return 1 end
local function other() return replaced() end
replaced = function() return Changed.a end
Changed.a = Changed.a + 1
local function give(table_) table_.a = table_.a + 1 return table_.a end
local sum = 0
for _, value in pairs(Fixed) do if type(value) == 'number' then sum = sum + value end end
note(Names.first)
note(Names.second)
return { Names.first, Names['second'], tostring(last), count, #seen, seen[1], Changed.a, give(Given), down(3), other(), sum }
`

test('runs of one script do not see each other', async () => {
  const both = await RealAndOurs.start()
  const runs = ['k', 'l', 'k', 'k', 'm'].map((key, n) => ['EVAL', SCRIPT, 1, key, `v${n}`])
  const { real, ours } = await both.answers([...runs, ['EVAL', SCRIPT, 0], ...runs])
  expect(ours).toEqual(real)
})

test('a function that a script reads at run time keeps what it has counted', async () => {
  const both = await RealAndOurs.start()
  const script = `
local make = loadstring('local n = 0 local function count() n = n + 1 return n end return count')
local one, other = make(), make()
return { one(), one(), other(), one() }`
  const { real, ours } = await both.answers([
    ['EVAL', script, 0],
    ['EVAL', script, 0],
  ])
  expect(ours).toEqual(real)
})
