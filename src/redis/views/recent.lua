#!lua flags=allow-oom
-- The notes of what happened to a bucket, which are taken while it is watched; watches it for a while from now on.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace notes member summed chain total
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', key
-- Answers  { { at, id, waiting, verdict ('yes' or the reason), ... for each verdict },
--          { at, id, gap | 'inf', gap by the spacing that was due | 'inf', ... for each start } }, both the newest first

local WATCHED_MS = 60000

expect_arguments(2)
local now, key = read_now(ARGV[1]), ARGV[2]
expect('meta', 'watched')

local function read(kind, format)
  local rows, n = {}, 0
  for _, record in ipairs(redis.call('LRANGE', notes_key(kind, key), 0, MOST_NOTES - 1)) do
    local ok, at, first, second, id, stop = pcall(struct.unpack, format, record)
    if not ok or stop ~= #record + 1 then foreign('notes') end
    rows[n + 1], rows[n + 2], rows[n + 3] = text(at), id, text(first)
    rows[n + 4] = type(second) == 'number' and text(second) or second
    n = n + 4
  end
  return rows
end

-- Read even where the bucket was not watched, because that checks that the lists are ours.
local answer = { read('verdicts', VERDICT_FORMAT), read('starts', START_FORMAT) }

-- Notes from before a time without watching would have a gap: they are dropped.
local until_ = redis.call('ZSCORE', K.watched, key)
if not until_ or tonumber(until_) <= now then
  redis.call('DEL', notes_key('verdicts', key), notes_key('starts', key))
  answer = { {}, {} }
end
redis.call('ZADD', K.watched, now + WATCHED_FOR, key)
redis.call('ZREMRANGEBYRANK', K.watched, 0, -MOST_WATCHED - 1)
redis.call('PEXPIRE', K.watched, WATCHED_MS)
redis.call('HSET', K.meta, 'watchedUntil', now + WATCHED_FOR)
return answer
