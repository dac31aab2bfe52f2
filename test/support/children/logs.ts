import { createLog } from '../../../src/telemetry/log.ts'

const log = createLog()
for (let n = 0; n < 1000; n++) log.info(`line ${n}`)
process.exit(3)
