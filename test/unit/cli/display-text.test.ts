import { describe, expect, it } from 'vitest'
import { cutText, fitText, padText, plainText, showText, textWidth } from '../../../src/cli/display-text.ts'

describe('text of others on a terminal', () => {
  it('shows what cannot be seen, or would turn the line around', () => {
    expect(showText('a\u001b[2Jb')).toBe('a\\u{1b}[2Jb')
    expect(showText('\u202eevil\u2066\u200b\ufeff')).toBe('\\u{202e}evil\\u{2066}\\u{200b}\\u{feff}')
    expect(showText('a\nb\u0085\u2028\ud800')).toBe('a\\u{a}b\\u{85}\\u{2028}\\u{d800}')
    expect(showText('東京/é+ü')).toBe('東京/é+ü')
  })

  it('counts columns: wide characters take two, marks none', () => {
    expect(textWidth('abc')).toBe(3)
    expect(textWidth('東京')).toBe(4)
    expect(textWidth('e\u0301')).toBe(1)
    expect(textWidth('🎸')).toBe(2)
    expect(textWidth('█▌·…┃')).toBe(5)
  })

  it('leaves out the middle where the ends matter, and the end of sentences', () => {
    expect(fitText('twilio/acme/+15551234', 11)).toBe('twili…51234')
    expect(fitText('twilio', 6)).toBe('twilio')
    expect(fitText('twilio', 0)).toBe('')
    expect(textWidth(fitText('東京大阪名古屋', 7))).toBeLessThanOrEqual(7)
    expect(cutText('it does not answer', 8)).toBe('it does…')
    expect(cutText('it does', 8)).toBe('it does')
    expect(cutText('it', 0)).toBe('')
  })

  it('fills up to exactly a width', () => {
    expect(padText('東京', 6)).toBe('東京  ')
    expect(padText('7', 3, 'right')).toBe('  7')
    for (const width of [1, 2, 5, 9]) expect(textWidth(padText('東京大阪名古屋', width))).toBe(width)
  })

  it('takes colours off', () => {
    expect(plainText('\u001b[1mbold\u001b[22m and \u001b[31mred\u001b[39m')).toBe('bold and red')
  })
})
