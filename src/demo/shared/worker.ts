import { callApi, RefusedError } from '../api-call.ts'
import { ApiClient } from '../api-client.ts'
import { report, reportError, runChild } from './child.ts'

// A separate process whose handlers call the API.
runChild({
  async prepare(shaper, { port }) {
    const client = new ApiClient(port)
    await client.warmUp()
    const onEnd = () => report({ say: 'ended' })
    shaper
      .on('departed', ({ key, at, waitedMs }) => report({ say: 'departed', key, at, waitedMs }))
      .on('completed', onEnd)
      .on('expired', onEnd)
      .on('failed', ({ error, retryAt }) => {
        if (!(error instanceof RefusedError)) reportError(error)
        if (retryAt === undefined) onEnd()
      })
      .work((job) => callApi(client, job.key))
  },

  async start() {},
})
