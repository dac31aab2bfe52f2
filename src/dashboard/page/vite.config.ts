import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

/**
 * Builds the page into `dist/dashboard`: one page, and its files under names that tell what is in them. Nothing is
 * written into the page itself, so that a policy without `unsafe-inline` holds.
 */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // It may be mounted anywhere.
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
