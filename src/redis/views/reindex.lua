#!lua
-- Corrects the index `:fill` where a version that does not know it has written: for one slice of all live buckets, for one slice
-- of its members, or for some keys. Without `allow-oom`, because it can wait.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket member summed chain total
--
-- KEYS[1]  the shard's tag
-- ARGV     'buckets' | 'members', cursor ('0' begins); or 'keys', key, ... (1 to MOST_PER_CALL)
-- Answers  next cursor ('0': that was all)

expect_arguments(2)
expect('buckets', 'fill')

local function mend(key)
  local is_readable, bucket = pcall(read_bucket, key)
  if not is_readable then redis.call('ZADD', K.fill, 'NX', 0, key)
  elseif bucket then redis.call('ZADD', K.fill, bucket.fill, key)
  else redis.call('ZREM', K.fill, key) end
end

if ARGV[1] == 'keys' then
  for index = 2, #ARGV do mend(ARGV[index]) end
  return '0'
end
local is_all = ARGV[1] == 'buckets'
local page = redis.call(is_all and 'HSCAN' or 'ZSCAN', is_all and K.buckets or K.fill, ARGV[2], 'COUNT', MOST_PER_CALL)
for index = 1, #page[2], 2 do mend(page[2][index]) end
return page[1]
