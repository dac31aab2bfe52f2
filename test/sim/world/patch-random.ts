import { createRequire } from 'node:module'
import { currentProcess } from './world.ts'

type Fill = <View extends ArrayBufferView>(view: View) => View
type Done = (error: Error | null, value: unknown) => void

/** Puts the chance of a world in the place of Node's, for code that runs in a process of a world. */
export function patchRandom(): void {
  const crypto: Record<string, unknown> = createRequire(import.meta.url)('node:crypto')
  const realRandom = Math.random
  Math.random = () => currentProcess()?.random.next() ?? realRandom()

  const realBytes = crypto['randomBytes'] as (size: number, done?: Done) => Buffer
  const realInt = crypto['randomInt'] as (...args: unknown[]) => unknown
  const realUuid = crypto['randomUUID'] as () => string
  const realFill = globalThis.crypto.getRandomValues.bind(globalThis.crypto) as unknown as Fill

  const randomBytes = (size: number, done?: Done) => {
    const process = currentProcess()
    if (process === undefined) return realBytes(size, done)
    const bytes = Buffer.alloc(size)
    process.random.fill(bytes)
    if (done !== undefined) process.check(() => done(null, bytes))
    return bytes
  }
  const randomInt = (...args: unknown[]) => {
    const process = currentProcess()
    if (process === undefined) return realInt(...args)
    const [least, most] = args.length === 1 ? [0, args[0]] : args
    return process.random.between(least as number, (most as number) - 1)
  }
  const randomUUID = () => {
    const process = currentProcess()
    if (process === undefined) return realUuid()
    const bytes = Buffer.alloc(16)
    process.random.fill(bytes)
    bytes[6] = (bytes[6]! & 0x0f) | 0x40
    bytes[8] = (bytes[8]! & 0x3f) | 0x80
    const hex = bytes.toString('hex')
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
  }
  const getRandomValues: Fill = (view) => {
    const process = currentProcess()
    if (process === undefined) return realFill(view)
    process.random.fill(new Uint8Array(view.buffer, view.byteOffset, view.byteLength))
    return view
  }
  Object.assign(crypto, { randomBytes, randomInt, randomUUID })
  Object.defineProperty(globalThis.crypto, 'getRandomValues', { value: getRandomValues, configurable: true })
  Object.defineProperty(globalThis.crypto, 'randomUUID', { value: randomUUID, configurable: true })
}
