/** A handler for `velvet-rope work`: started at the rate of the job's key, never sooner. What it throws fails the job. */
export default async function handle(job) {
  console.log(`${job.key}: job ${job.id} departs after ${(job.waitedMs / 1_000).toFixed(1)} s`)
}
