-- Finding a job by its id. An id is of the first segment of the key: where two segments use one, the job that comes second is kept
-- under a longer name, `<id>.<hash of the segment>`. No id holds a dot.

local function segment_of(key)
  return string.match(key, '^[^/]*')
end

-- Returns the job of this id in the first segment of the key, or nil; and its name, or the one for a new job. Without a key: the
-- job that has the id for a name. `read`: read_job, or what knows the jobs of this call as well.
local function find_job(id, key, read)
  local job = read(id)
  if not job then
    if has_twins == nil then has_twins = redis.call('HEXISTS', K.meta, 'twins') == 1 end
    if not has_twins then return nil, id end
  end
  if is_turn(id) or key == '' or job and segment_of(job.key) == segment_of(key) then return job, id end
  local name = id .. '.' .. string.sub(redis.sha1hex(segment_of(key)), 1, 32)
  local twin = read(name)
  return twin, (twin or job) and name or id
end
