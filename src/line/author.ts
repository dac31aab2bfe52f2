import { hostname } from 'node:os'
import { z } from 'zod'

/** Who brings a limit: the name of a token, of an operator, of a file. */
export const authorSchema = z
  .string()
  .regex(/^[^\p{Control}\p{Surrogate}]{1,256}$/u, '1 to 256 characters, none of them a control character')

/** Who brings limits where nobody else is named: `<hostname>:<pid>`. */
export function thisProcess(): string {
  return `${hostname()}:${process.pid}`
}
