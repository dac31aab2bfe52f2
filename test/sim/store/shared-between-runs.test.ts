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

/** What scripts have in common: functions, one of them twice, constants, variables of a block, methods of a table. */
const LIBRARY = `
local KINDS, STEP = { a = 'A', b = 'B' }, 2
local LEAST = -5
local counts, last = {}, 'none'
do
  local n = 0
  local function next_one() n = n + STEP return n end
  function counts.up(name) last = name return next_one() + LEAST end
  counts.down = function(name) last = nil return n - 1 end
end
local function fail_at(value)
  return value
    .nothing.here
end
do local function twice(value) error('first ' .. value) end counts.first = twice end
do local function twice(value) error('first ' .. value) end counts.second = twice end
local function even(n) if n == 0 then return KEYS[1] end return even(n - 2) end
`
const USES = `
local function tried(name, ...) local _, message = pcall(...) return name .. tostring(message) end
return {
  counts.up('x'), counts.up('y'), tostring(last), counts.down('z'), tostring(last), KINDS.a, even(4), ARGV[1],
  tried('fails ', fail_at, {}), tried('once ', counts.first, 1), tried('again ', counts.second, 2),
}`

test('scripts that have functions in common see their own variables, and errors tell their own lines', async () => {
  const both = await RealAndOurs.start()
  const scripts = [
    LIBRARY + USES,
    `local before = 1\n\n${LIBRARY}${USES}`,
    `local other = ARGV[1]${LIBRARY}counts.up(other)\n${USES}`,
    `local n = 7\nlocal counts = {}\n${LIBRARY.replace('STEP = ', 'STEP = 1 + ')}${USES}`,
    `\n\n${LIBRARY}\nreturn fail_at({})`,
    `${LIBRARY}\nreturn fail_at({})`,
    `${LIBRARY}\nlast = 'own' even = function() return last end return even(1)`,
  ]
  const runs = [...scripts, ...scripts.toReversed()].map((script, n) => ['EVAL', script, 1, `k${n}`, `v${n}`])
  const { real, ours } = await both.answers(runs)
  expect(ours).toEqual(real)
})
