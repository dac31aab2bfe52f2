import { expect, test } from 'vitest'
import { InvalidKeyError } from '../../../src/core/errors.ts'
import { checkKey, LONGEST_KEY } from '../../../src/core/key.ts'

test.each([
  'a',
  'twilio/acme/+15551234',
  ' spaces and : { } * ',
  '日本語',
  '🎈',
  'x'.repeat(LONGEST_KEY),
  'é'.repeat(LONGEST_KEY / 2),
  'constructor/my__proto__thing',
  'a.b/.c/..d/e./...',
])('%j is a key', (key) => {
  expect(() => checkKey(key)).not.toThrow()
})

test.each([
  [undefined, 'expected the key to be a string, got: undefined'],
  [5, 'expected the key to be a string, got: 5'],
  ['', 'expected the key to be 1 to 256 bytes, got: 0'],
  ['x'.repeat(257), 'expected the key to be 1 to 256 bytes, got: 257 in "xxx'],
  ['日'.repeat(86), 'got: 258'],
  ['a\u0000b', 'expected the key to hold no control characters, got: "a\\u0000b"'],
  ['a\nb', 'control characters'],
  ['a\u0085b', 'got: "a\\u0085b"'],
  ['\ud83c', 'expected the key to be well-formed Unicode'],
  ['__proto__', 'expected the key to have no segment __proto__, got: "__proto__"'],
  ['a/__proto__/b', 'no segment __proto__'],
  ['.', 'expected the key to have no segment . or .., which no URL can name, got: "."'],
  ['..', 'no segment . or ..'],
  ['../a', 'no segment . or ..'],
  ['a/./b', 'no segment . or ..'],
  ['a/..', 'no segment . or ..'],
])('%j is rejected with a clear error', (key, message) => {
  expect(() => checkKey(key)).toThrow(InvalidKeyError)
  expect(() => checkKey(key)).toThrow(
    expect.objectContaining({ code: 'invalid-key', message: expect.stringContaining(message) }),
  )
})

test('the message names what was checked', () => {
  expect(() => checkKey('', 'pattern')).toThrow('expected the pattern to be 1 to 256 bytes')
})
