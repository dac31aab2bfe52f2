import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

/**
 * Builds the page into `dist/dashboard`: one page, and its files with content hashes in their names. No script or style
 * is inlined, so that a policy without `unsafe-inline` works.
 */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // The page may be mounted below any path.
  base: './',
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL('../../../dist/dashboard', import.meta.url)),
    emptyOutDir: true,
    target: 'es2023',
    cssTarget: ['chrome123', 'firefox125', 'safari17.5'],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
