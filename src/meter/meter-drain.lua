#!lua flags=allow-oom
-- Empties a meter, and lifts its block.
-- uses: meter
--
-- KEYS[1]  the meter's level
-- Answers  1 when a level was kept | 0

if not read_level() then return 0 end
return redis.call('DEL', KEYS[1])
