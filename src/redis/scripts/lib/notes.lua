-- What whoever watches a bucket is shown: its last verdicts and departures. Nothing is noted while nobody watches. A note
-- is no part of the line: where it finds something that is not ours, it is lost.

local MOST_NOTES = 50
local NOTES_MS = 60000

-- At, waiting, the verdict ('yes' or the reason), id; and at, gap, gap by the spacing that was due, id.
local VERDICT_FORMAT, START_FORMAT = '<ddss', '<ddds'

-- `kind`: 'verdicts' or 'starts'. The key of a user is never part of a name.
local function notes_key(kind, key)
  return K[kind] .. redis.sha1hex(key)
end

local function note(meta, kind, key, at, format, ...)
  if at >= meta.watchedUntil then return end
  local until_ = redis.pcall('ZSCORE', K.watched, key)
  if type(until_) ~= 'string' or tonumber(until_) <= at then return end
  local list = notes_key(kind, key)
  local length = redis.pcall('LPUSH', list, struct.pack(format, at, ...))
  if type(length) ~= 'number' then return end
  if length > MOST_NOTES then redis.call('LTRIM', list, 0, MOST_NOTES - 1) end
  redis.call('PEXPIRE', list, NOTES_MS)
end

-- Of a start at the time `at`, before the bucket takes it for its last.
local function note_start(meta, bucket, id, at)
  local gap, ratio = INF, INF
  if bucket.lastStart > -INF then gap, ratio = at - bucket.lastStart, (at - bucket.lastStart) / spacing_after_start(bucket) end
  note(meta, 'starts', bucket.key, at, START_FORMAT, gap, ratio, id)
end
