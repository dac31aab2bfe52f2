import { isIPv6, SocketAddress } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ipKey } from '../../../src/http/ip-key.ts'
import { InvalidKeyError } from '../../../src/index.ts'

describe('the key of an address', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['0.0.0.0', '0.0.0.0'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:c000:0201', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
    ['2001:0DB8:0001:0002:0000:0000:0000:0001', '2001:db8:1:2::'],
    ['2001:db8:1:2::', '2001:db8:1:2::'],
    ['2001:db8::1', '2001:db8::'],
    ['2001:db8:0:1::1', '2001:db8:0:1::'],
    ['2001::1:2:3:4:5', '2001:0:0:1::'],
    ['2001:0:0:1:2:3:4:5', '2001:0:0:1::'],
    ['1::2:3:4:5:6:7', '1:0:2:3::'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::'],
    ['::2:3:4:5:6:7:8', '0:2:3:4::'],
    ['::1', '::'],
    ['::', '::'],
    ['::1.2.3.4', '::'],
    ['64:ff9b::192.0.2.1', '64:ff9b::'],
    ['fe80::1%eth0', 'fe80::'],
    ['fe80::1%', 'fe80::'],
  ])('%s is %s', (address, key) => {
    expect(ipKey(address)).toBe(key)
  })

  test.each([
    undefined,
    '',
    'localhost',
    '192.0.2.1:80',
    '[2001:db8::1]',
    '192.0.2',
    '192.0.2.256',
    '192.0.2.01',
    ' 192.0.2.1',
    '192.0.2.1, 198.51.100.1',
    '2001:db8:::1',
    '1:2:3:4:5:6:7:8:9',
    '%eth0',
    'unknown',
    '::1\n',
  ])('is not invented for %j', (address) => {
    expect(() => ipKey(address)).toThrow(InvalidKeyError)
    expect(() => ipKey(address)).toThrow('expected an IP address')
  })

  test('is the same for every address of a 64-bit network, in any notation, and for no other', () => {
    const group = fc.integer({ min: 0, max: 0xffff })
    const groups = (count: number) => fc.array(group, { minLength: count, maxLength: count })
    const text = (parts: readonly number[]) => parts.map((part) => part.toString(16)).join(':')
    const short = (parts: readonly number[]) =>
      new SocketAddress({ address: text(parts), family: 'ipv6' }).address
    // Zeros are what is left out; where the first half is all zeros, IPv4 may be inside.
    const sparse = fc.array(fc.oneof(fc.constant(0), group), { minLength: 4, maxLength: 4 })
    const property = fc.property(sparse, sparse, groups(4), sparse, (network, one, other, another) => {
      fc.pre(network.some((part) => part !== 0))
      const key = ipKey(text([...network, ...one]))
      expect(isIPv6(key)).toBe(true)
      expect(short([...network, 0, 0, 0, 0])).toBe(key)
      expect(ipKey(short([...network, ...one]))).toBe(key)
      expect(ipKey(text([...network, ...other]).toUpperCase())).toBe(key)
      expect(ipKey(key)).toBe(key)
      expect(ipKey(text([...another, ...one])) === key).toBe(text(another) === text(network))
    })
    fc.assert(property, { numRuns: 2_000 })
  })
})
