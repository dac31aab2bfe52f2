#!lua flags=allow-oom
-- What happened to a bucket while somebody watched it; and for a while from now on what happens to it is noted.
-- uses: shard warmth bucket pace seen
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', key
-- Answers  { now, number of verdicts, then for each: at, id, waiting, verdict ('yes' or the reason); then for each departure:
--          at, id, gap | 'inf', gap by the spacing that was due | 'inf' }, the newest first

local WATCHED_FOR = 30000000
-- More are not watched: who was asked for longest ago makes room.
local MOST_WATCHED = 100
local WATCHED_MS = 60000

local now, key = read_now(ARGV[1]), ARGV[2]
expect('meta', 'watched')
local answer = { text(now), 0 }
local n = 2

local function read(kind, format)
  for _, record in ipairs(redis.call('LRANGE', seen_of(kind, key), 0, MOST_SEEN - 1)) do
    local ok, at, first, second, id, stop = pcall(struct.unpack, format, record)
    if not ok or stop ~= #record + 1 then foreign('what was seen') end
    answer[n + 1], answer[n + 2], answer[n + 3] = text(at), id, text(first)
    answer[n + 4] = type(second) == 'number' and text(second) or second
    n = n + 4
  end
end

-- Also where nobody has watched for a while, since reading tells that they are ours.
read('verdicts', VERDICT_FORMAT)
answer[2] = (n - 2) / 4
read('starts', START_FORMAT)

-- What was noted before, and then not any more, would have a gap in it.
local until_ = redis.call('ZSCORE', K.watched, key)
if not until_ or tonumber(until_) <= now then
  redis.call('DEL', seen_of('verdicts', key), seen_of('starts', key))
  answer = { text(now), 0 }
end
redis.call('ZADD', K.watched, now + WATCHED_FOR, key)
redis.call('ZREMRANGEBYRANK', K.watched, 0, -MOST_WATCHED - 1)
redis.call('PEXPIRE', K.watched, WATCHED_MS)
redis.call('HSET', K.meta, 'watchedUntil', now + WATCHED_FOR)
return answer
