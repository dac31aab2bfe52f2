-- Notes of the last verdicts and starts of a bucket, taken while the bucket is watched. A note is not part of the line: where a
-- foreign value stands under its name, it is dropped.

local NOTES_MS = 60000

-- at, waiting, verdict ('yes' or the reason), id; and at, gap, gap divided by the spacing that was due, id.
local VERDICT_FORMAT, START_FORMAT = '<ddss', '<ddds'

-- `kind`: 'verdicts' or 'starts'. The user's key is hashed, because it is never part of a name.
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

-- Notes a start at `at`. To be called before the bucket stores it as its last start.
local function note_start(meta, bucket, id, at)
  local gap, ratio = INF, INF
  if bucket.lastStart > -INF then gap, ratio = at - bucket.lastStart, (at - bucket.lastStart) / spacing_after_start(bucket) end
  note(meta, 'starts', bucket.key, at, START_FORMAT, gap, ratio, id)
end
