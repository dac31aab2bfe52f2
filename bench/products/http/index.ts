import type { HttpProduct } from './product.ts'

const LOADERS = {
  'rope-in-memory': async () => (await import('./velvet-rope.ts')).ropeInMemory,
  'rope-on-redis': async () => (await import('./velvet-rope.ts')).ropeOnRedis,
  'bare-hono': async () => (await import('./hono.ts')).bareHono,
  'hono-bullmq': async () => (await import('./hono.ts')).honoBullmq,
}

export type HttpProductName = keyof typeof LOADERS

/** In the order in which they have their turn. */
export const HTTP_PRODUCTS = Object.keys(LOADERS) as HttpProductName[]

export const HTTP_PACKAGES = ['autocannon', 'bullmq', 'ioredis'] as const

export function loadHttpProduct(name: HttpProductName): Promise<HttpProduct> {
  return LOADERS[name]()
}
