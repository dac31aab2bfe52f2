#!/usr/bin/env node
import { runProgram } from './program.ts'

// A reader of the output may stop early, as `head` does; that is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? 0)
  process.stderr.write(`velvet-rope: standard output cannot be written: ${error.message}\n`)
  process.exit(1)
})

const code = await runProgram(process.argv.slice(2))
if (code !== 0) process.exitCode = code
