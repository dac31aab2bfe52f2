import { type Reply, refuse, Status } from '../reply.ts'
import { type Command, reads } from './command.ts'

export const VARIOUS: readonly Command[] = [
  reads('echo', 2, (_, args) => args[1]!),
  reads('time', 1, (caller): Reply => {
    const now = caller.nowUs()
    return [`${Math.floor(now / 1e6)}`, `${Math.floor(now % 1e6)}`]
  }),
  reads('ping', -1, (_, args) => {
    if (args.length > 2) refuse("ERR wrong number of arguments for 'ping' command")
    return args[1] ?? new Status('PONG')
  }),
]
