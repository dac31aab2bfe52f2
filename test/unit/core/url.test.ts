import { expect, test } from 'vitest'
import { parseUrl } from '../../../src/core/url.ts'

test('a host with a letter beyond ASCII is parsed the same, however often', () => {
  const hosts = new Set<string | undefined>()
  for (let time = 0; time < 50_000; time++) hosts.add(parseUrl('https://bücher.example')?.hostname)
  expect([...hosts]).toEqual(['xn--bcher-kva.example'])
})

test.each(['', 'api.example.com', 'https://', 'http://a b/'])('%j is no URL', (text) => {
  expect(parseUrl(text)).toBeUndefined()
})
