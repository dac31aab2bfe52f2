import { createRequire } from 'node:module'

/** Resolved by the package's own name, so that sources and build find the same file. */
export function packageVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('velvet-rope/package.json')
  return (manifest as { version: string }).version
}
