#!lua flags=no-writes
-- One page of live buckets, in no order: about 200 of them.
-- uses: shard warmth bucket pace job blocks line view
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', cursor ('0' begins), prefix of the keys
-- Answers  { now, next cursor ('0': that was all), view, ... }

local now = read_now(ARGV[1])
local prefix = ARGV[3]
local page = redis.call('HSCAN', K.buckets, ARGV[2], 'COUNT', 200)
local answer = { text(now), page[1] }
for index = 1, #page[2], 2 do
  local key = page[2][index]
  if string.sub(key, 1, #prefix) == prefix then
    local bucket = read_bucket(key)
    if bucket then answer[#answer + 1] = view_of(bucket, now) end
  end
end
return answer
