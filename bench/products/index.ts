import type { Product } from './product.ts'

/** Loaded by name, so that a process that measures one product holds no other. */
const LOADERS = {
  'velvet-rope': async () => (await import('./velvet-rope.ts')).velvetRope,
  bottleneck: async () => (await import('./bottleneck.ts')).bottleneck,
  'p-throttle': async () => (await import('./p-throttle.ts')).pThrottle,
  'p-queue': async () => (await import('./p-queue.ts')).pQueue,
  limiter: async () => (await import('./limiter.ts')).limiter,
  'rate-limiter-flexible': async () => (await import('./rate-limiter-flexible.ts')).rateLimiterFlexible,
  'spin-loop': async () => (await import('./spin-loop.ts')).spinLoop,
  'bare-arrays': async () => (await import('./bare-arrays.ts')).bareArrays,
}

export type ProductName = keyof typeof LOADERS

export const ROPE = 'velvet-rope'
export const PEERS = ['bottleneck', 'p-throttle', 'p-queue', 'limiter', 'rate-limiter-flexible'] as const

export function loadProduct(name: ProductName): Promise<Product> {
  return LOADERS[name]()
}
