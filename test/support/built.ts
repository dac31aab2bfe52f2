import { join } from 'node:path'
import { inject } from 'vitest'

/** The compiled form of a source file, for `node`. @param source its path in the checkout: `'src/cli/main.ts'` */
export function built(source: string): string {
  return join(inject('builtFolder'), source.replace(/\.(m?)ts$/, '.$1js'))
}
