#!lua flags=no-writes
-- The views of some buckets: of as many as may be read in one call.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace blocks next due line sums waiting counted view member summed chain total
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', key, ... (1 to 200)
-- Answers  { now, how many of the keys were read, view, ... }, without those that are unknown or foreign

local now = read_now(ARGV[1])
local answer, reads, at = { text(now), 0 }, 0, 2
while at <= #ARGV and reads + usage.work < MOST_READS do
  local is_readable, bucket = pcall(read_bucket, ARGV[at])
  reads = reads + 5
  if is_readable and bucket then
    local view, jobs = view_of(bucket, now)
    answer[#answer + 1] = view
    reads = reads + jobs
  end
  at = at + 1
end
answer[2] = at - 2
return answer
