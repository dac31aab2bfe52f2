#!lua flags=no-writes
-- Returns one page of the live buckets, or totals, to which the rules in force were not applied yet; reads about MOST_PER_CALL.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace member summed chain total
--
-- KEYS[1]  the shard's tag
-- ARGV     'due': buckets with jobs to hand over, by departure | 'all', in no order | 'totals'; cursor ('0' begins)
-- Answers  { version of the rule book, next cursor ('0' at the end), key or path, its pattern, its limit, ... }

expect_arguments(2)
local book = read_meta().book
local read, set = read_bucket, K.buckets
if ARGV[1] == 'totals' then read, set = family.total, K.totals end
local next_, keys = '0', {}
if ARGV[1] == 'due' then
  local from = whole(ARGV[2])
  keys = redis.call('ZRANGE', K.due, from, from + MOST_PER_CALL - 1)
  if #keys == MOST_PER_CALL then next_ = string.format('%d', from + MOST_PER_CALL) end
else
  local page = redis.call('HSCAN', set, ARGV[2], 'COUNT', MOST_PER_CALL)
  next_ = page[1]
  for index = 1, #page[2], 2 do keys[#keys + 1] = page[2][index] end
end
local answer = { text(book), next_ }
for _, key in ipairs(keys) do
  -- What cannot be read must not hold up the others; a verb that names it raises the error.
  local is_readable, bucket = pcall(read, key)
  if is_readable and bucket and bucket.book < book then
    answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = key, bucket.pattern, usage.rule_of(bucket.limit)
    if bucket.member then answer[#answer] = answer[#answer] .. '\n' .. bucket.member.chain end
  end
end
return answer
