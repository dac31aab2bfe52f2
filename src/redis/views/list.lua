#!lua flags=no-writes
-- One page of live buckets, in no order: about 200 of them. Where many jobs have to be looked at for that, some of them are only
-- named.
-- uses: shard warmth bucket pace job blocks line view
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', cursor ('0' begins), prefix of the keys
-- Answers  { now, next cursor ('0': that was all), { view, ... }, { key that was not looked at, ... } }

-- Jobs.
local MOST_LOOKS = 250

local now = read_now(ARGV[1])
local prefix = ARGV[3]
local page = redis.call('HSCAN', K.buckets, ARGV[2], 'COUNT', 200)
local views, others, looks = {}, {}, 0
for index = 1, #page[2], 2 do
  local key = page[2][index]
  if string.sub(key, 1, #prefix) == prefix then
    local bucket = looks < MOST_LOOKS and read_bucket(key)
    if looks >= MOST_LOOKS then others[#others + 1] = key
    elseif bucket then
      local view, jobs = view_of(bucket, now)
      views[#views + 1] = view
      -- Few are looked at where nothing failed: the first and the last.
      looks = looks + math.max(0, jobs - 4)
    end
  end
end
return { text(now), page[1], views, others }
