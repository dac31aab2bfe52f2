#!lua flags=no-writes
-- Counts the jobs of one page of buckets by state, and answers the shard's counters with them.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace blocks line sums waiting member summed chain total
--
-- KEYS[1]  the shard's tag
-- ARGV     now (unused), cursor ('0' begins)
-- Answers  { next cursor ('0': that was all), admitted, ended, waiting, handed, running, retrying }

expect_arguments(2)
local meta = read_meta()
-- Each bucket takes a few commands, to look at its lists.
local page = redis.call('HSCAN', K.buckets, ARGV[2], 'COUNT', MOST_PER_CALL)
local waiting, handed, running, returned = 0, 0, 0, 0
for index = 1, #page[2], 2 do
  local bucket = read_bucket(page[2][index])
  if bucket then
    read_line(bucket)
    waiting, handed = waiting + bucket.inLine, handed + bucket.inHanded
    running, returned = running + bucket.running, returned + retrying(bucket)
  end
end
return {
  page[1], text(meta.admitted), text(meta.ended), text(waiting), text(handed), text(running), text(returned),
}
