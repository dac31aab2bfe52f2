import { describe, expect, test } from 'vitest'
import { calledFunctions } from '../../../../src/redis/scripts/called-functions.ts'
import { allScripts } from '../../../fuzz/scripts/all-scripts.ts'

const one = `-- A library.

local LIMIT = 5

-- Of what is called.
local function inner(a)
  return a + LIMIT
end

-- Called by the script. Unlike uncalled().
local function outer(a)
  return inner(a)
end

local function short(a) return a end

-- Each calls the other.
local function ping(a) return pong(a) end
local function pong(a)
  if a then
    return ping(a)
  end
end
`

describe('of a library', () => {
  test('only functions stay that are called, directly or not, with their comments, and all that is no function', () => {
    expect(calledFunctions([one], 'return outer(1)')).toEqual([
      `-- A library.

local LIMIT = 5

-- Of what is called.
local function inner(a)
  return a + LIMIT
end

-- Called by the script. Unlike uncalled().
local function outer(a)
  return inner(a)
end


`,
    ])
  })

  test('a function of one line stays alone', () => {
    const [text] = calledFunctions([one], 'return short(1)')
    expect(text).toContain('local function short(a) return a end')
    expect(text).not.toMatch(/function (inner|outer|ping|pong)/)
  })

  test('those that call each other stay when one of them is called', () => {
    const [text] = calledFunctions([one], 'return ping(1)')
    expect(text).toMatch(/function ping.*function pong.*return ping\(a\)\n {2}end\nend/s)
    expect(text).not.toMatch(/function (inner|outer|short)/)
  })

  test('a function is called that another library calls, or code outside of functions', () => {
    const other = 'local first = short(2)\nlocal function other() return inner(first) end'
    const [text] = calledFunctions([one, other], 'return other()')
    expect(text).toMatch(/function inner.*function short/s)
    expect(text).not.toContain('function outer')
  })

  test('a name in a comment calls nothing', () => {
    expect(calledFunctions([one], '-- as outer does\n  -- or inner\nreturn 1').join()).not.toContain(
      'function',
    )
  })
})

describe('a library of one table', () => {
  const table =
    '-- of: usage\ndo\n  local function part() end\n  function usage.a() end\n  function usage.b() return part() end\nend'

  test('is whole where one of its functions is called', () => {
    expect(calledFunctions([table, one], 'return usage.b(outer)')[0]).toBe(table)
  })

  test('is empty otherwise', () => {
    expect(calledFunctions([table, one], 'return usage.c(part)')[0]).toBe('')
  })
})

describe.each([...allScripts()])('%s', (_, { text }) => {
  const code = text.replaceAll(/^ *--.*$/gm, '')

  test('names each of its functions where it is not defined', () => {
    const names = [...code.matchAll(/^local function (\w+)\(/gm)].map(([, name]) => name!)
    const unnamed = names.filter((name) => (code.match(new RegExp(`\\b${name}\\b`, 'g')) ?? []).length < 2)
    expect(unnamed).toEqual([])
  })
})
