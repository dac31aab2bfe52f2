#!lua flags=no-writes
-- One page of live buckets, in no order: about 100 of them. Where many jobs would have to be looked at, it names the rest of
-- the page instead of reading it.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace blocks next due line sums waiting counted view member summed chain total
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', cursor ('0' begins)
-- Answers  { now, next cursor ('0': that was all), { view (see view_of), ... }, { key of a bucket that was not read, ... } }

expect_arguments(2)
local now = read_now(ARGV[1])
-- Each takes a dozen commands.
local page = redis.call('HSCAN', K.buckets, ARGV[2], 'COUNT', 100)
local views, unread, reads = {}, {}, 0
for index = 1, #page[2], 2 do
  local key = page[2][index]
  local is_enough = reads >= MOST_READS or usage.is_enough(#views)
  local bucket = not is_enough and read_bucket(key)
  if is_enough then unread[#unread + 1] = key
  elseif bucket then
    local view, jobs = view_of(bucket, now)
    views[#views + 1] = view
    -- Without retries view_of looks at the first and the last jobs only: those do not count.
    reads = reads + math.max(0, jobs - 4)
  end
end
return { text(now), page[1], views, unread }
