#!lua flags=no-writes
-- What is known of some buckets: of as many as may be looked at in one go.
-- uses: shard warmth bucket pace job blocks line view
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', key, ... (1 to 200)
-- Answers  { now, how many of the keys were looked at, view, ... }: none of one that is unknown, or not ours

-- Jobs and buckets.
local MOST_LOOKS = 250

local now = read_now(ARGV[1])
local answer, looks, at = { text(now), 0 }, 0, 2
while at <= #ARGV and looks < MOST_LOOKS do
  local is_readable, bucket = pcall(read_bucket, ARGV[at])
  looks = looks + 5
  if is_readable and bucket then
    local view, jobs = view_of(bucket, now)
    answer[#answer + 1] = view
    looks = looks + jobs
  end
  at = at + 1
end
answer[2] = at - 2
return answer
