import { describe, expect, it } from 'vitest'
import { readKeys } from '../../../src/cli/keyboard.ts'

const character = (text: string) => ({ name: 'character', character: text })

describe('keys of a terminal in raw mode', () => {
  it.each([
    ['\u001b[A', 'up'],
    ['\u001bOB', 'down'],
    ['\u001b[5~', 'page-up'],
    ['\u001b[6~', 'page-down'],
    ['\u001b[H', 'home'],
    ['\u001b[4~', 'end'],
    ['\r', 'enter'],
    ['\n', 'enter'],
    ['\u001b', 'escape'],
    ['\u007f', 'backspace'],
    ['\u0015', 'erase-line'],
    ['\u0003', 'interrupt'],
  ])('%j is %s', (text, name) => {
    expect(readKeys(text)).toEqual([{ name }])
  })

  it('come several at once, and characters of any script among them', () => {
    expect(readKeys('a\u001b[Aé東🎸\r')).toEqual([
      character('a'),
      { name: 'up' },
      character('é'),
      character('東'),
      character('🎸'),
      { name: 'enter' },
    ])
  })

  it('that mean nothing are left out', () => {
    expect(readKeys('\u001b[15~\u001b[1;5C\u001bOP\u0000\t\u001a')).toEqual([])
  })
})
