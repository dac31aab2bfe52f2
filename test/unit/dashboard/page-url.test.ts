import { describe, expect, test } from 'vitest'
import {
  readPageUrl,
  turnedSort,
  type View,
  writePageUrl,
  writeTableQuery,
} from '../../../src/dashboard/page/data/page-url.ts'

describe('the URL of the page', () => {
  test.each<[View, string]>([
    [{ name: 'overview', query: { sort: '-fill' } }, ''],
    [{ name: 'overview', query: { sort: 'key' } }, '?sort=key'],
    [{ name: 'rules' }, '?page=rules'],
    [{ name: 'family', path: 'a/b c/' }, '?family=a%2Fb+c%2F'],
    [{ name: 'bucket', key: 'a/b c&d=é' }, '?bucket=a%2Fb+c%26d%3D%C3%A9'],
    [
      {
        name: 'overview',
        query: { prefix: 'x/', minFill: 0.500_001, state: 'full', sort: '-fill', cursor: 'abc' },
      },
      '?prefix=x%2F&minFill=0.500001&state=full&cursor=abc',
    ],
    [
      {
        name: 'overview',
        query: { maxFill: 0.2, minOldestWaitMs: 30_000, pattern: 'stripe/*', sort: 'key' },
      },
      '?maxFill=0.2&minOldestWaitMs=30000&pattern=stripe%2F*&sort=key',
    ],
  ])('is read and written: %j', (view, url) => {
    expect(writePageUrl(view)).toBe(url)
    expect(readPageUrl(url)).toEqual(view)
  })

  test('with nonsense in it is read without it', () => {
    const nonsense = `?minFill=lots&maxFill=-1&state=odd&sort=<b>&pattern=&prefix=${'x'.repeat(3_000)}&minFill2=1`
    expect(readPageUrl(nonsense)).toEqual({ name: 'overview', query: { sort: '-fill' } })
    expect(readPageUrl('?minFill=1.5')).toEqual({ name: 'overview', query: { sort: '-fill' } })
    expect(readPageUrl('?family=a')).toEqual({ name: 'overview', query: { sort: '-fill' } })
    expect(readPageUrl('?page=other')).toEqual({ name: 'overview', query: { sort: '-fill' } })
  })

  test('sends the API what to list', () => {
    expect(writeTableQuery({ sort: '-fill', prefix: 'a' })).toBe('prefix=a&sort=-fill&limit=100')
  })

  test('sorts the other way when asked twice; numbers begin with the largest, words with the first', () => {
    expect(turnedSort('key', 'fill', false)).toBe('-fill')
    expect(turnedSort('-fill', 'fill', false)).toBe('fill')
    expect(turnedSort('fill', 'fill', false)).toBe('-fill')
    expect(turnedSort('-fill', 'key', true)).toBe('key')
    expect(turnedSort('key', 'key', true)).toBe('-key')
  })
})
