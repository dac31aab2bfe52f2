import { expect, onTestFinished, test } from 'vitest'
import { Service } from '../../../src/service/service.ts'
import { load } from '../config/config-folder.ts'
import { memorableLog } from './memorable-log.ts'

const env = { VELVET_ROPE_LIMIT: '4, 1/s' }

test('a change of the file is loaded into its layer alone, and limits removed from the file are gone', async () => {
  const config = await load("limits: { '*': '9, 1/s', shop: '8, 1/s', sms: '7, 1/s' }", { env })
  const { log, lines } = memorableLog()
  const service = await Service.start({ config, routes: undefined, log })
  onTestFinished(() => service.stop({ drain: false }))
  const { limits } = service.shaper
  const inForce = () => limits.list().map(({ pattern, limit, origin }) => `${pattern}: ${limit} ${origin}`)
  const [environment, , sms] = limits.list()
  const change = async (text: string) => {
    lines.length = 0
    service.use(await load(text, { env }))
    await expect.poll(() => lines.filter(({ message }) => message === 'limits in force')).not.toHaveLength(0)
  }

  await change("limits: { '*': '9, 1/s', shop: '5, 1/s', sms: '7, 1/s' }")
  expect(lines.flatMap(({ fields }) => fields['origin'] ?? [])).toEqual(['file'])
  expect(inForce()).toEqual(['*: 4, 1/s environment', 'shop: 5, 1/s file', 'sms: 7, 1/s file'])
  expect([limits.version, limits.list()[0], limits.list()[2]]).toEqual([2, environment, sms])
  expect(limits.resolve('shop').at).toBeGreaterThan(sms!.at!)

  // What the environment hides is of the file all the same, and is in force where the environment does not set it.
  await change("limits: { '*': '6, 1/s' }")
  expect(inForce()).toEqual(['*: 4, 1/s environment'])
  await limits.load({}, { origin: 'environment' })
  expect(inForce()).toEqual(['*: 6, 1/s file'])

  await change('{}')
  expect(inForce()).toEqual([])
})
