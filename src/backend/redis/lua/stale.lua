#!lua flags=no-writes
-- One page of the live buckets that are not held to the rules in force yet, in no order: about 200 are looked at.
-- uses: shard warmth bucket pace
--
-- KEYS[1]  the shard's tag
-- ARGV     cursor ('0' begins)
-- Answers  { version of the rule book, next cursor ('0': that was all), key, ... }

local book = read_meta().book
local page = redis.call('HSCAN', K.buckets, ARGV[1], 'COUNT', 200)
local answer = { text(book), page[1] }
for index = 1, #page[2], 2 do
  -- One that cannot be read must not hold up the others; whoever asks for it is told.
  local is_readable, bucket = pcall(read_bucket, page[2][index])
  if is_readable and bucket and bucket.book < book then answer[#answer + 1] = bucket.key end
end
return answer
