import { spawn } from 'node:child_process'

/** Does `act` while so many other processes do nothing but take processor time. */
export async function withNeighbours<Value>(count: number, act: () => Promise<Value>): Promise<Value> {
  const children = Array.from({ length: count }, () => spawn(process.execPath, ['-e', 'for (;;);']))
  const end = () => {
    for (const child of children) child.kill('SIGKILL')
  }
  process.once('exit', end)
  try {
    return await act()
  } finally {
    end()
    process.off('exit', end)
  }
}
