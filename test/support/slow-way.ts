import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to a Redis on which nothing passes, then the greeting, then everything. */
export async function slowWay(path: string) {
  const held: (() => void)[] = []
  let [greets, passes] = [false, false]
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(path)
    for (const socket of [near, far]) {
      sockets.add(socket.on('error', () => undefined))
      socket.on('close', () => void [near, far].map((end) => end.destroy()))
    }
    far.on('data', (bytes) => near.write(bytes))
    near.on('data', (bytes) => {
      // By this question it is found fit or not; what comes behind it waits as well.
      if (bytes.includes('appendfsync')) greets = false
      if (passes || greets) far.write(bytes)
      else held.push(() => far.write(bytes))
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const release = () => {
    for (const send of held.splice(0)) send()
  }
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    letGreet: () => {
      greets = true
      release()
    },
    letPass: () => {
      passes = true
      release()
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
